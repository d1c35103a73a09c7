"""Which answers a question takes: the table of kinds, and that what is recorded would be taken again."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.errors import InvalidInput
from fabro.ids import QuestionId, StageId
from fabro.run.question import (
    Answer,
    MultiSelected,
    No,
    Option,
    Question,
    QuestionKind,
    Selected,
    Text,
    Yes,
    accepted,
    check_answer,
)

OPTIONS = (
    Option(key="a", label="Approve"),
    Option(key="r", label="Reject it"),
    Option(key="Y", label="yes"),
    Option(key="x", label="[x] No"),
)
K = QuestionKind


def question(kind: QuestionKind, *, freeform: bool = False) -> Question:
    return Question(
        id=QuestionId("gate@1"),
        stage=StageId("gate@1"),
        text="?",
        kind=kind,
        options=OPTIONS,
        allow_freeform=freeform,
    )


@pytest.mark.parametrize(
    ("kind", "given", "recorded"),
    [
        (K.YES_NO, Yes(), Yes()),
        (K.CONFIRMATION, No(), No()),
        (K.YES_NO, Text(text=" YES "), Yes()),
        (K.CONFIRMATION, Text(text="n"), No()),
        (K.MULTIPLE_CHOICE, Selected(option_key="a"), Selected(option_key="a")),
        (K.MULTIPLE_CHOICE, Text(text="A"), Selected(option_key="a")),
        (K.MULTIPLE_CHOICE, Text(text=" reject IT "), Selected(option_key="r")),
        (K.MULTIPLE_CHOICE, Text(text="yes"), Selected(option_key="Y")),
        (K.MULTI_SELECT, MultiSelected(option_keys=("a", "r")), MultiSelected(option_keys=("a", "r"))),
        (K.MULTI_SELECT, Text(text="approve"), MultiSelected(option_keys=("a",))),
        (K.MULTIPLE_CHOICE, Text(text="no"), Selected(option_key="x")),
        (K.FREEFORM, Text(text="yes"), Selected(option_key="Y")),
    ],
)
def test_answers_that_fit(kind: QuestionKind, given: Answer, recorded: Answer) -> None:
    assert check_answer(question(kind), given) == recorded


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (K.YES_NO, Selected(option_key="a")),
        (K.YES_NO, Text(text="maybe")),
        (K.CONFIRMATION, MultiSelected(option_keys=())),
        (K.MULTIPLE_CHOICE, Yes()),
        (K.MULTIPLE_CHOICE, Selected(option_key="A")),
        (K.MULTIPLE_CHOICE, Selected(option_key="")),
        (K.MULTIPLE_CHOICE, MultiSelected(option_keys=("a",))),
        (K.MULTIPLE_CHOICE, Text(text="approve please")),
        (K.MULTI_SELECT, MultiSelected(option_keys=("a", "z"))),
        (K.MULTI_SELECT, MultiSelected(option_keys=())),
        (K.FREEFORM, Text(text="so so")),
        (K.MULTI_SELECT, Selected(option_key="a")),
        (K.FREEFORM, Text(text=" \n")),
        (K.FREEFORM, Yes()),
    ],
)
def test_answers_that_do_not_fit_are_told_what_would(kind: QuestionKind, given: Answer) -> None:
    asked = question(kind)
    with pytest.raises(InvalidInput) as caught:
        check_answer(asked, given)
    assert caught.value.code == "answer_invalid"
    assert caught.value.hint == accepted(asked)


answers: st.SearchStrategy[Answer] = st.one_of(
    st.just(Yes()),
    st.just(No()),
    st.builds(Selected, option_key=st.sampled_from(["a", "r", "Y", "A", "", "zz"])),
    st.builds(MultiSelected, option_keys=st.lists(st.sampled_from(["a", "r", "zz"]), max_size=3).map(tuple)),
    st.builds(Text, text=st.text(max_size=5) | st.sampled_from(["yes", "N", "approve", " a ", "Reject it"])),
)


@given(st.builds(question, st.sampled_from(QuestionKind), freeform=st.booleans()), answers)
def test_what_is_recorded_is_one_of_the_options_or_free_text(asked: Question, answer: Answer) -> None:
    try:
        recorded = check_answer(asked, answer)
    except InvalidInput:
        return
    assert check_answer(asked, recorded) == recorded
    match recorded:
        case Yes() | No():
            assert asked.kind in (K.YES_NO, K.CONFIRMATION)
        case Selected(option_key=key):
            assert key in [option.key for option in OPTIONS]
        case MultiSelected(option_keys=keys):
            assert set(keys) <= {option.key for option in OPTIONS}
        case Text(text=text):
            assert text.strip()
            assert asked.allow_freeform


@given(st.sampled_from(QuestionKind), st.text(min_size=1).filter(str.strip))
def test_where_free_words_are_allowed_any_text_is_taken(kind: QuestionKind, text: str) -> None:
    assert isinstance(check_answer(question(kind, freeform=True), Text(text=text)), get_args(Answer))


@pytest.mark.parametrize("kind", QuestionKind)
def test_the_hint_names_every_option(kind: QuestionKind) -> None:
    hint = accepted(question(kind))
    if kind in (K.MULTIPLE_CHOICE, K.MULTI_SELECT):
        assert all(f"{option.key} ({option.label})" in hint for option in OPTIONS)
    assert accepted(question(kind, freeform=True)).endswith("any text that is not blank.")
