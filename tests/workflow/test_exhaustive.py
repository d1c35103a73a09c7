from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.workflow.attributes import OUTCOME_WORDS
from fabro.workflow.condition import Condition
from fabro.workflow.condition_parser import parse_condition
from fabro.workflow.exhaustive import are_exhaustive


def conditions(texts: Sequence[str]) -> list[Condition]:
    return [parse_condition(text) for text in texts]


@pytest.mark.parametrize(
    "texts",
    [
        ["outcome=failed", "outcome!=failed"],
        ["outcome=success", "outcome=fail", "outcome=partial_success", "outcome=skipped"],
        ["a", "!a"],
        ["a=x", "a!=x"],
        ["a=x", "a=y", "a!=x && a!=y"],
        ["outcome=failed && a", "outcome=failed && !a", "outcome!=failed"],
        ["a>5", "!(a>5)"],
        ["a contains x || !(a contains x)"],
    ],
)
def test_nothing_is_left_out(texts: Sequence[str]) -> None:
    assert are_exhaustive(conditions(texts))


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["outcome=failed"],
        ["outcome=succeeded", "outcome=failed"],
        ["a=x", "a=y"],
        ["a>5", "a<=5"],
        ["a", "!b"],
        ["a=x", "b!=x"],
        [f"k{number}" for number in range(40)],
        [f"k={number}" for number in range(2000)],
    ],
)
def test_something_may_be_left_out(texts: Sequence[str]) -> None:
    assert not are_exhaustive(conditions(texts))


TEXTS = st.lists(
    st.sampled_from(
        ["outcome=failed", "outcome!=failed", "a=x", "a!=x", "a", "!a", "b>1", "!(b>1) && a", "a=y || b>1"]
    ),
    max_size=4,
)
VALUES = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(OUTCOME_WORDS),
        "a": st.sampled_from(["", "x", "y", "z"]),
        "b": st.sampled_from(["", "1", "2"]),
    }
)


@given(TEXTS, VALUES)
def test_a_yes_is_never_wrong(texts: Sequence[str], values: Mapping[str, str]) -> None:
    found = conditions(texts)
    if are_exhaustive(found):
        assert any(condition.holds(values.get) for condition in found)
