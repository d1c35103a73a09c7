"""`name=value` options as values. Above: run, create. Below: nothing. Pure.

Rules: reference/engine.md §11, known fault U-07. A value is text unless it is written as a TOML boolean or number;
quotes make it text whatever it looks like.
"""

import re
import tomllib
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import cast

from fabro.cli.boundary import Usage
from fabro.run.spec import Scalar

_QUOTED = re.compile(r"""\s*(?P<quote>["']).*(?P=quote)\s*""", re.DOTALL)


def parse_inputs(options: Iterable[str]) -> dict[str, Scalar]:
    """Inputs from `name=value` texts, split at the first `=`; of a repeated name the last counts.

    Raises:
        Usage: there is no `=`, no name, or the value is an array, a table or a date.
    """
    return {name: parse_scalar(name, value) for name, value in _pairs("--input", options)}


def parse_labels(options: Iterable[str]) -> dict[str, str]:
    """Labels from `name=value` texts; values are text as it stands.

    Raises:
        Usage: there is no `=`, no name, or a name comes twice with different values.
    """
    labels: dict[str, str] = {}
    for name, value in _pairs("--label", options):
        if labels.setdefault(name, value) != value:
            raise Usage(f"--label {name}: given twice, as {labels[name]!r} and as {value!r}")
    return labels


def parse_scalar(name: str, text: str) -> Scalar:
    """One input's value.

    Raises:
        Usage: an array, a table or a date.
    """
    match _toml(text):
        case str() | bool() | int() | float() as value:
            return value
        case None:
            return text
        case list() | dict() | date() | datetime() | time():
            raise Usage(
                f"--input {name}: {text!r} is an array, a table or a date; wanted text, a number, true or false",
                hint=f"Quote it to pass it as text: --input '{name}=\"...\"'.",
            )
        case other:
            raise AssertionError(other)


def _toml(text: str) -> object:
    """The one TOML value that the text is; None where it is none, or would lose a part as a comment."""
    if not _QUOTED.fullmatch(text) and ("#" in text or "\n" in text or "\r" in text):
        return None
    try:
        parsed = cast("dict[str, object]", tomllib.loads(f"value = {text}"))
    except (ValueError, RecursionError):
        return None
    return parsed["value"] if len(parsed) == 1 else None


def _pairs(option: str, texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Usage(f"{option} {text!r}: wanted NAME=VALUE", hint=f"For instance {option} size=3.")
        yield name.strip(), value
