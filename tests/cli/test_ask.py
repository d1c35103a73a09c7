"""What somebody means by what they typed."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.calls import QuestionView
from fabro.cli.ask import describe, prompt_of, read_answer
from fabro.ids import QuestionId, RunId, StageId
from fabro.run.question import Answer, MultiSelected, Option, QuestionKind, Selected, Text


def question(kind: QuestionKind, *labels: str, keys: str = "ABC", freeform: bool = False) -> QuestionView:
    options = tuple(Option(key=key, label=label) for key, label in zip(keys, labels, strict=False))
    return QuestionView(
        id=QuestionId("gate@1"),
        run_id=RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        stage=StageId("gate@1"),
        text="Ship\x1b[2J it?",
        question_type=kind,
        options=options,
        allow_freeform=freeform,
        timeout_seconds=None,
        context_display="built\nfine",
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


CHOICE = question(QuestionKind.MULTIPLE_CHOICE, "Approve", "Back again")
SEVERAL = question(QuestionKind.MULTI_SELECT, "Lint", "Test", "Docs")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a", Selected(option_key="A")),
        ("1", Selected(option_key="A")),
        (" back AGAIN ", Selected(option_key="B")),
        ("3", Text(text="3")),
        ("0", Text(text="0")),
        ("²", Text(text="²")),
        ("something", Text(text="something")),
        ("", Text(text="")),
    ],
)
def test_one_of_several(typed: str, expected: Answer) -> None:
    assert read_answer(CHOICE, typed) == expected


def test_a_key_that_is_a_number_is_meant_as_the_key() -> None:
    numbered = question(QuestionKind.MULTIPLE_CHOICE, "two", "one", keys="21")
    assert read_answer(numbered, "1") == Selected(option_key="1")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("1, docs", MultiSelected(option_keys=("A", "C"))),
        ("b", MultiSelected(option_keys=("B",))),
        ("None", MultiSelected(option_keys=())),
        ("1,nope", Text(text="1,nope")),
        ("", Text(text="")),
    ],
)
def test_several_of_several(typed: str, expected: Answer) -> None:
    assert read_answer(SEVERAL, typed) == expected


@given(st.text())
def test_free_words_stay_as_they_are(typed: str) -> None:
    assert read_answer(question(QuestionKind.FREEFORM, freeform=True), typed) == Text(text=typed)
    assert read_answer(question(QuestionKind.YES_NO), typed) == Text(text=typed)


@given(st.text())
def test_whatever_is_typed_has_a_meaning(typed: str) -> None:
    for kind in QuestionKind:
        read_answer(question(kind, "One", "Two"), typed)


def test_the_question_is_shown_safely_with_its_options() -> None:
    assert describe(CHOICE) == (
        "  | built\n  | fine\n? gate@1  Ship\\x1b[2J it?\n  1) [A] Approve\n  2) [B] Back again"
    )
    assert prompt_of(question(QuestionKind.YES_NO, freeform=True)) == "answer (yes or no, or any text): "
