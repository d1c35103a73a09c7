"""Facts as JSON of bounded size."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from fabro.mcp_server.json_text import compact, cut, plain, plain_object, size, within


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Inner:
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Fact:
    color: Color
    inner: Inner
    many: tuple[Inner, ...] = ()
    nothing: str | None = None


def test_facts_become_plain_json() -> None:
    inner = Inner(at=datetime(2026, 5, 1, tzinfo=UTC))
    fact = Fact(color=Color.RED, inner=inner, many=(inner,))
    shown = {"at": "2026-05-01T00:00:00.000Z"}
    assert plain_object(fact, 100) == {"color": "red", "inner": shown, "many": [shown]}
    assert type(plain(Color.RED, 100)) is str
    assert plain_object(fact, 100, without=("inner", "many")) == {"color": "red"}


@given(st.text(max_size=300))
def test_a_cut_text_keeps_both_ends(text: str) -> None:
    shown = cut(text, 40)
    assert shown == text or (shown.startswith(text[:20]) and shown.endswith(text[-20:]) and len(text) > 40)


def test_size_counts_bytes_of_the_compact_form() -> None:
    assert compact({"a": "é", "b": [1]}) == '{"a":"é","b":[1]}'
    assert size({"a": "é"}) == len('{"a":"é"}') + 1


def test_of_many_named_values_the_first_are_kept() -> None:
    named = {f"name{number}": "v" * 10 for number in range(100)}
    assert within(named, 10_000) == named
    kept = within(named, 300)
    assert list(kept)[:3] == ["name0", "name1", "name2"]
    assert kept["…"] == f"{100 - (len(kept) - 1)} more are left out"
    assert size(kept) < 350
