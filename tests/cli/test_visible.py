"""Text of runs can't drive a terminal; times read well."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.cli.visible import age, duration, shorten, visible, visible_line


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    shown = visible(text)
    assert not [char for char in shown if (ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0]
    shown.encode()  # no lone surrogate


@given(st.text())
def test_a_line_is_one_line(text: str) -> None:
    assert len(visible_line(text).splitlines()) <= 1


def test_escapes_are_shown_and_plain_text_stays() -> None:
    assert visible("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert visible("a\r\nb\tc é 漢 🙂") == "a\nb\tc é 漢 🙂"
    assert visible("\u202eevil") == "\\u202eevil"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3, "0.0s"),
        (0.26, "0.3s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (7380, "2h03m"),
        (356400, "4d03h"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(-1, "0s"), (59, "59s"), (61, "1m"), (7201, "2h"), (9e5, "10d")])
def test_ages(seconds: float, expected: str) -> None:
    assert age(timedelta(seconds=seconds)) == expected


@given(st.text(), st.integers(3, 50))
def test_shortened_text_fits(text: str, length: int) -> None:
    assert len(shorten(text, length)) <= length
