"""`NAME=VALUE` options: what is a number, what stays text, what is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.cli.boundary import Usage
from fabro.cli.inputs import parse_inputs, parse_labels, parse_scalar
from fabro.run.spec import Scalar

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,10}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=b=c", "a=b=c"),
        ("", ""),
        (" spaced ", " spaced "),
        ("5", 5),
        ("-5", -5),
        ("1_000", 1000),
        ("007", "007"),
        ("1.5", 1.5),
        ("true", True),
        ("True", "True"),
        ('"5"', "5"),
        ("'5'", "5"),
        ('"a # b"', "a # b"),
        ("5 # five", "5 # five"),
        ("'tis", "'tis"),
        ("1\nother = 2", "1\nother = 2"),
        ('{"a":1}', '{"a":1}'),
        ("@file", "@file"),
        ("$(touch pwned)", "$(touch pwned)"),
        ("1" * 5000, "1" * 5000),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_values(text: str, value: Scalar) -> None:
    parsed = parse_scalar("n", text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("text", ["[1, 2]", "{ a = 1 }", "2020-01-01", "2020-01-01T00:00:00Z", "10:00:00", "[]"])
def test_arrays_tables_and_dates_are_refused(text: str) -> None:
    with pytest.raises(Usage, match="--input n: "):
        parse_scalar("n", text)


@given(NAMES, st.text())
def test_a_quoted_text_is_that_text(name: str, text: str) -> None:
    quoted = json.dumps(text.replace("\x7f", ""), ensure_ascii=True)
    if "\\ud" not in quoted.lower():
        assert parse_inputs([f"{name}={quoted}"]) == {name: text.replace("\x7f", "")}


@given(NAMES, st.text())
def test_every_value_is_read_or_refused_and_text_is_never_changed(name: str, text: str) -> None:
    try:
        value = parse_inputs([f"{name}={text}"])[name]
    except Usage:
        return
    if isinstance(value, str) and not text.strip().startswith(('"', "'")):
        assert value == text


@given(NAMES, st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_numbers_and_booleans_come_back(name: str, value: Scalar) -> None:
    assert parse_inputs([f"{name}={json.dumps(value)}"]) == {name: value}


def test_numbers_that_are_none_are_still_numbers_for_the_server_to_refuse() -> None:
    value = parse_scalar("n", "nan")
    assert isinstance(value, float)
    assert math.isnan(value)


def test_the_last_of_equal_inputs_counts() -> None:
    assert parse_inputs(["a=1", "b=x", "a=2"]) == {"a": 2, "b": "x"}


@pytest.mark.parametrize("text", ["", "novalue", "=x", " =x"])
def test_a_pair_needs_a_name_and_an_equals_sign(text: str) -> None:
    with pytest.raises(Usage, match="wanted NAME=VALUE"):
        parse_inputs([text])
    with pytest.raises(Usage, match="wanted NAME=VALUE"):
        parse_labels([text])


def test_labels_stay_text_and_contradictions_are_refused() -> None:
    assert parse_labels(["a=5", "b=true", "a=5"]) == {"a": "5", "b": "true"}
    with pytest.raises(Usage, match="given twice"):
        parse_labels(["a=1", "a=2"])
