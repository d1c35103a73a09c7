"""The page on events and the events say the same."""

import re
from dataclasses import fields
from pathlib import Path

from fabro.run.events import KNOWN_EVENTS

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
_HEADING = re.compile(r"^\| \*\*`(?P<event>[a-z._]+)`\*\* \|", re.MULTILINE)
_PROPERTY = re.compile(r"^\| `(?P<event>[a-z._]+)` \| `(?P<property>\w+)` \| (?P<type>[^|]+) \|", re.MULTILINE)


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_event_in_order_and_no_other() -> None:
    assert [found["event"] for found in _HEADING.finditer(page())] == list(KNOWN_EVENTS)


def test_the_page_has_every_property_in_order_and_no_other() -> None:
    said = [(found["event"], found["property"]) for found in _PROPERTY.finditer(page())]
    assert said == [(name, field.name) for name, kind in KNOWN_EVENTS.items() for field in fields(kind)]


def test_optional_properties_are_called_so() -> None:
    optional = {
        (name, field.name) for name, kind in KNOWN_EVENTS.items() for field in fields(kind) if field.default is None
    }
    said = {
        (found["event"], found["property"]) for found in _PROPERTY.finditer(page()) if "optional" in found["type"]
    }
    assert said == optional
