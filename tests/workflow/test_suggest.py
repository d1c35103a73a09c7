from hypothesis import given
from hypothesis import strategies as st

from fabro.workflow.suggest import closest, one_slip_away


def test_a_slip() -> None:
    known = {"review", "build"}
    assert [one_slip_away(word, known) for word in ("reveiw", "revew", "reviiew", "revjew", "ship", "x" * 500)] == [
        "review",
        "review",
        "review",
        "review",
        None,
        None,
    ]


def test_something_close() -> None:
    assert closest("max_retry", ["max_retries", "label"]) == "max_retries"
    assert closest("zzz", ["max_retries", "label"]) is None


@given(st.text(max_size=80))
def test_any_word(word: str) -> None:
    assert one_slip_away(word, {"review"}) in {None, "review"}
    assert closest(word, ["review"]) in {None, "review"}
