"""Reading a written value as the type that its attribute declares. Above: build. Below: attributes.

Source: design §4.2.
"""

import math
import re
from datetime import timedelta

from fabro.dot.syntax import Value, ValueKind
from fabro.workflow.attributes import AttributeValue, Kind

MAX_DURATION = timedelta(days=3650)
"""Longer durations can't be read: they are slips, and they would not fit into a timer."""

_DURATION = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")
_SECONDS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_FLAGS = {"true": True, "false": False}
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

WANTED = {
    Kind.TEXT: "text",
    Kind.INTEGER: "a whole number, such as `3`",
    Kind.NUMBER: "a number, such as `0.5`",
    Kind.FLAG: "`true` or `false`",
    Kind.DURATION: "a duration, such as `90s`, `15m` or `2h`",
}
"""What each type looks like, as messages say it."""


def read_value(kind: Kind, value: Value) -> AttributeValue | None:
    """The value as `kind`; None where it can't be read so. A bare number counts as seconds for a duration."""
    text = value.text.strip()
    match kind:
        case Kind.TEXT:
            return value.text
        case Kind.INTEGER:
            return _integer(text)
        case Kind.NUMBER:
            return _number(text)
        case Kind.FLAG:
            return _FLAGS.get(text.lower())
        case Kind.DURATION:
            return read_duration(text)


def read_untyped(value: Value) -> AttributeValue:
    """The value of an attribute that the table does not know, by the way it is written."""
    match value.kind:
        case ValueKind.INTEGER:
            return int(value.text)
        case ValueKind.FLOAT:
            return float(value.text)
        case ValueKind.DURATION:
            return read_duration(value.text) or value.text
        case ValueKind.WORD:
            return _FLAGS.get(value.text, value.text)
        case ValueKind.STRING:
            return value.text


def read_duration(text: str) -> timedelta | None:
    """A duration with a unit (ms, s, m, h, d), or a bare number of seconds; None for anything else."""
    with_unit = _DURATION.fullmatch(text)
    if with_unit:
        seconds = int(with_unit[1]) * _UNITS[with_unit[2]]
    elif _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        return None
    return timedelta(seconds=seconds) if seconds <= MAX_DURATION.total_seconds() else None


def value_text(value: AttributeValue) -> str:
    """The value as the context shows it: durations in milliseconds, flags as `true` and `false`."""
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            return f"{round(value.total_seconds() * 1000)}ms"
        case _:
            return str(value)


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
