"""Tables, JSON, colours: what is printed where."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.cli.output import Output, fit, speaks_unicode, to_json

HEADINGS = ("ID", "TITLE", "STATUS")


class Screen(io.StringIO):
    """A text stream that says which encoding it has."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - StringIO has none of its own
        return self._encoding


def table(*rows: tuple[str, str, str], width: int, colour: bool = False) -> list[str]:
    out = Screen("utf-8")
    Output(out=out, err=io.StringIO(), width=width, colour=colour).table(HEADINGS, rows, elastic="TITLE")
    return out.getvalue().splitlines()


def test_columns_stand_under_each_other_and_nothing_trails() -> None:
    assert table(("1", "one", "failed"), ("22", "漢字", "succeeded"), width=100) == [
        "ID  TITLE  STATUS",
        "1   one    failed",
        "22  漢字   succeeded",
    ]


def test_a_narrow_terminal_costs_the_elastic_column() -> None:
    lines = table(("1", "a very long title that does not fit", "failed"), width=24)
    assert lines == ["ID  TITLE         STATUS", "1   a very long   failed"]


def test_control_characters_and_markup_are_text() -> None:
    assert table(("1", "[red]x\x1b[0m\n:smile:", "ok"), width=100)[1] == "1   [red]x\\x1b[0m :smile:  ok"


def test_colour_is_for_terminals_and_status_words() -> None:
    assert "\x1b[" not in "".join(table(("1", "failed", "failed"), width=100))
    assert "\x1b[31mfailed\x1b[0m" in table(("1", "one", "failed"), width=100, colour=True)[1]


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5), st.integers(20, 200))
def test_columns_fit_where_they_can(rows: list[tuple[str, str, str]], width: int) -> None:
    widths = fit(HEADINGS, rows, elastic=1, width=width)
    assert sum(widths) + 4 <= width or widths[1] <= 8


@pytest.mark.parametrize(
    ("environment", "encoding", "speaks"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", True),
        ({"LANG": "C.UTF-8"}, "UTF-8", True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "utf-8", False),
        ({}, "utf-8", False),
        ({"LANG": "en_US.UTF-8"}, "ascii", False),
    ],
)
def test_marks_beyond_ascii_need_a_locale_that_has_them(
    environment: dict[str, str], encoding: str, *, speaks: bool
) -> None:
    assert speaks_unicode(environment, encoding) is speaks


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_comes_through_every_encoding(encoding: str) -> None:
    out = Screen(encoding)
    value = {"text": "é漢🙂\x1b\ud800", "none": None, "list": (1, 2.5, True)}
    Output(out=out, err=io.StringIO()).json(value)
    written = out.getvalue().encode(encoding, errors="backslashreplace").decode(encoding)
    assert json.loads(written) == to_json(value)
    assert written.count("\n") == 1
