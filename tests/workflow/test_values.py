from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.dot.span import Span
from fabro.dot.syntax import Value, ValueKind
from fabro.workflow.attributes import AttributeValue, Kind
from fabro.workflow.values import read_duration, read_untyped, read_value, value_text

NOWHERE = Span(0, 0, 1, 1)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Kind.TEXT, "5m", "5m"),
        (Kind.TEXT, "12", "12"),
        (Kind.INTEGER, "5", 5),
        (Kind.INTEGER, " -3 ", -3),
        (Kind.INTEGER, "1.5", None),
        (Kind.INTEGER, "five", None),
        (Kind.INTEGER, "9223372036854775808", None),
        (Kind.NUMBER, "0.5", 0.5),
        (Kind.NUMBER, "nan", None),
        (Kind.NUMBER, "x", None),
        (Kind.FLAG, "true", True),
        (Kind.FLAG, "False", False),
        (Kind.FLAG, "yes", None),
        (Kind.DURATION, "900s", timedelta(seconds=900)),
        (Kind.DURATION, "15m", timedelta(minutes=15)),
        (Kind.DURATION, "100ms", timedelta(milliseconds=100)),
        (Kind.DURATION, "2h", timedelta(hours=2)),
        (Kind.DURATION, "1d", timedelta(days=1)),
        (Kind.DURATION, "300", timedelta(seconds=300)),
        (Kind.DURATION, "0", timedelta()),
        (Kind.DURATION, "1.5", timedelta(seconds=1.5)),
        (Kind.DURATION, "-5s", None),
        (Kind.DURATION, "soon", None),
        (Kind.DURATION, "99999999d", None),
    ],
)
@pytest.mark.parametrize("written", [ValueKind.STRING, ValueKind.WORD])
def test_a_value_is_read_as_its_declared_type(
    kind: Kind, text: str, expected: AttributeValue | None, written: ValueKind
) -> None:
    assert read_value(kind, Value(written, text, NOWHERE)) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (ValueKind.STRING, "5", "5"),
        (ValueKind.INTEGER, "5", 5),
        (ValueKind.FLOAT, ".5", 0.5),
        (ValueKind.DURATION, "5m", timedelta(minutes=5)),
        (ValueKind.DURATION, "-5m", "-5m"),
        (ValueKind.WORD, "true", True),
        (ValueKind.WORD, "gpt-5", "gpt-5"),
    ],
)
def test_an_unknown_attribute_is_read_as_written(kind: ValueKind, text: str, expected: AttributeValue) -> None:
    assert read_untyped(Value(kind, text, NOWHERE)) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (timedelta(seconds=1.5), "1500ms"), (3, "3"), (0.5, "0.5"), ("x", "x")],
)
def test_values_as_text(value: AttributeValue, text: str) -> None:
    assert value_text(value) == text


@given(st.text())
def test_any_text_is_a_bounded_duration_or_none(text: str) -> None:
    for kind in Kind:
        read_value(kind, Value(ValueKind.STRING, text, NOWHERE))
    duration = read_duration(text)
    assert duration is None or timedelta() <= duration <= timedelta(days=3650)
