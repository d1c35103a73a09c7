"""What a run asks people and what they may answer. Above: events, human gates, doors. Below: nothing.

Source: reference/engine.md §7, reference/mcp-server.md §6; an answer that matches nothing is refused and the
question stays open (design §4.8).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from fabro.errors import InvalidInput
from fabro.ids import QuestionId, StageId
from fabro.workflow.labels import normal_label


class QuestionKind(StrEnum):
    """The five forms of a question."""

    YES_NO = "yes_no"
    CONFIRMATION = "confirmation"
    MULTIPLE_CHOICE = "multiple_choice"
    MULTI_SELECT = "multi_select"
    FREEFORM = "freeform"


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One choice: `key` is what a person types, `label` what they read."""

    key: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as it is shown. `timeout_seconds` counts from the moment it was asked; None waits for ever."""

    id: QuestionId
    stage: StageId
    text: str
    kind: QuestionKind = QuestionKind.MULTIPLE_CHOICE
    options: tuple[Option, ...] = ()
    allow_freeform: bool = False
    timeout_seconds: float | None = None
    context_display: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Yes:
    """Yes, to a yes/no question or a confirmation."""

    kind: Literal["yes"] = "yes"


@dataclass(frozen=True, kw_only=True, slots=True)
class No:
    """No, to a yes/no question or a confirmation."""

    kind: Literal["no"] = "no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """One option, by its key."""

    option_key: str
    kind: Literal["selected"] = "selected"


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiSelected:
    """One or more options, by their keys."""

    option_keys: tuple[str, ...]
    kind: Literal["multi_selected"] = "multi_selected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Free words, or an option's key or label."""

    text: str
    kind: Literal["text"] = "text"


_YES_OR_NO = (QuestionKind.YES_NO, QuestionKind.CONFIRMATION)
_ONE_OPTION = (QuestionKind.MULTIPLE_CHOICE, QuestionKind.FREEFORM)
Answer: TypeAlias = Yes | No | Selected | MultiSelected | Text


def check_answer(question: Question, answer: Answer) -> Answer:
    """The answer in the form in which it is recorded.

    A text that is, ignoring case, an option's key or label becomes that option; one that means yes or no
    becomes it where the question is of that kind.

    Raises:
        InvalidInput: the answer does not fit the question (`answer_invalid`); the message says what would.
    """
    if isinstance(answer, Text):
        answer = _from_text(question, answer)
    match answer:
        case Yes() | No():
            fits = question.kind in _YES_OR_NO and option_for(question, answer) is not None
        case Selected(option_key=key):
            fits = question.kind in _ONE_OPTION and key in _keys(question)
        case MultiSelected(option_keys=keys):
            fits = question.kind is QuestionKind.MULTI_SELECT and bool(keys) and set(keys) <= _keys(question)
        case Text(text=text):
            fits = bool(text.strip()) and question.allow_freeform
    if not fits:
        raise InvalidInput(
            f"answer {_shown(answer)} does not fit question {question.id}",
            code="answer_invalid",
            hint=accepted(question),
        )
    return answer


def option_for(question: Question, answer: Yes | No) -> Option | None:
    """The option that says yes, or no: by its key, or by its label without the key."""
    words = ("y", "yes") if isinstance(answer, Yes) else ("n", "no")
    for option in question.options:
        if option.key.casefold() in words or normal_label(option.label) in words:
            return option
    return None


def accepted(question: Question) -> str:
    """One sentence that says which answers the question takes."""
    keys = ", ".join(f"{option.key} ({option.label})" for option in question.options)
    match question.kind:
        case QuestionKind.YES_NO | QuestionKind.CONFIRMATION:
            text = "Answer yes or no" if option_for(question, No()) else "Answer yes"
        case QuestionKind.FREEFORM if not question.options:
            return "Answer with any text that is not blank."
        case QuestionKind.MULTIPLE_CHOICE | QuestionKind.FREEFORM:
            text = f"Answer with one of: {keys}"
        case QuestionKind.MULTI_SELECT:
            text = f"Answer with any of: {keys}"
    return f"{text}, or with any text that is not blank." if question.allow_freeform else f"{text}."


def _keys(question: Question) -> set[str]:
    return {option.key for option in question.options}


def _from_text(question: Question, answer: Text) -> Answer:
    said = answer.text.strip().casefold()
    if question.kind in _YES_OR_NO and said in ("yes", "y", "no", "n"):
        meant = Yes() if said.startswith("y") else No()
        if option_for(question, meant) is not None:
            return meant
    for option in question.options:
        if said in (option.key.casefold(), option.label.strip().casefold(), normal_label(option.label)):
            if question.kind is QuestionKind.MULTI_SELECT:
                return MultiSelected(option_keys=(option.key,))
            if question.kind in _ONE_OPTION:
                return Selected(option_key=option.key)
    return answer


def _shown(answer: Answer) -> str:
    match answer:
        case Yes() | No():
            return answer.kind
        case Selected(option_key=key):
            return repr(key)
        case MultiSelected(option_keys=keys):
            return repr(list(keys))
        case Text(text=text):
            return repr(text if len(text) <= 80 else text[:77] + "...")
