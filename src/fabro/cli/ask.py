"""Asking a person at a terminal what a run asks. Above: following. Below: calls, output.

Reading waits on the event loop, not in a thread: when somebody else answers first, asking just ends.
"""

import os
import sys
from collections.abc import Callable, Sequence

import anyio

from fabro.calls import Calls, QuestionView
from fabro.cli.output import Output
from fabro.cli.visible import visible
from fabro.errors import Conflict, InvalidInput
from fabro.ids import RunId
from fabro.run.question import Answer, MultiSelected, Option, QuestionKind, Selected, Text

LONGEST_LINE_BYTES = 1 << 16
CONTEXT_LINES = 20
"""How much of what a question refers to is shown, from its end."""


def read_answer(question: QuestionView, typed: str) -> Answer:
    """What somebody means by what they typed: an option's key or label, else its number, else their words.

    To a question that takes several, options are parted by commas, and `none` is none of them. Whether the answer
    fits is not judged here.
    """
    if question.question_type is QuestionKind.MULTI_SELECT:
        parts = [part for part in typed.split(",") if part.strip()]
        chosen = [_option(question.options, part) for part in parts]
        if typed.strip().casefold() == "none" and chosen == [None]:
            return MultiSelected(option_keys=())
        if parts and all(chosen):
            return MultiSelected(option_keys=tuple(option.key for option in chosen if option is not None))
        return Text(text=typed)
    option = _option(question.options, typed)
    if option is not None and question.question_type is QuestionKind.MULTIPLE_CHOICE:
        return Selected(option_key=option.key)
    return Text(text=typed)


def _option(options: Sequence[Option], typed: str) -> Option | None:
    said = typed.strip().casefold()
    for option in options:
        label = option.label.strip()
        if said in (option.key.casefold(), label.casefold(), label_of(option).casefold()):
            return option
    if said.isdecimal() and said.isascii() and 1 <= int(said[:4]) <= len(options):
        return options[int(said[:4]) - 1]
    return None


def label_of(option: Option) -> str:
    """The option's label without the key that it may begin with: `[Y] Yes`, `Y) Yes` and `Y - Yes` give `Yes`."""
    label = option.label.strip()
    for lead in (f"[{option.key}]", f"{option.key})", f"{option.key} - "):
        if label.startswith(lead) and label != lead:
            return label.removeprefix(lead).strip()
    return label


def describe(question: QuestionView) -> str:
    """The question with its options, several lines."""
    lines = [f"? {question.stage}  {visible(question.text)}"]
    if question.context_display:
        shown = visible(question.context_display).rstrip().splitlines()[-CONTEXT_LINES:]
        lines = [*(f"  | {line}" for line in shown), *lines]
    lines.extend(
        f"  {number}) [{visible(option.key)}] {visible(label_of(option))}"
        for number, option in enumerate(question.options, start=1)
    )
    return "\n".join(lines)


def prompt_of(question: QuestionView) -> str:
    """What stands before the cursor."""
    match question.question_type:
        case QuestionKind.YES_NO | QuestionKind.CONFIRMATION:
            wanted = "yes or no"
        case QuestionKind.MULTIPLE_CHOICE:
            wanted = "number, key or label"
        case QuestionKind.MULTI_SELECT:
            wanted = "numbers, keys or labels with commas between, or none"
        case QuestionKind.FREEFORM:
            wanted = "text"
    free = question.allow_freeform and question.question_type is not QuestionKind.FREEFORM
    return f"answer ({wanted}{', or any text' if free else ''}): "


class Terminal:
    """Lines that are typed; a line that comes in pieces is put together."""

    def __init__(self) -> None:
        self._pending = b""

    async def line(self) -> str | None:
        """The next line without its end; None at the end of input (Ctrl-D)."""
        descriptor = sys.stdin.fileno()
        while b"\n" not in self._pending and len(self._pending) < LONGEST_LINE_BYTES:
            await anyio.wait_readable(descriptor)
            piece = os.read(descriptor, 4096)
            if not piece:
                return None
            self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")


async def ask(
    calls: Calls,
    run_id: RunId,
    question: QuestionView,
    *,
    terminal: Terminal,
    output: Output,
    sending: Callable[[bool], None],
) -> bool:
    """Ask until the run has an answer; false when the person ended the input instead.

    `sending` is told when an answer is on its way, for then asking must not be cut off.
    """
    output.line(describe(question))
    while True:
        print(prompt_of(question), end="", file=output.out, flush=True)
        typed = await terminal.line()
        if typed is None:
            output.line()
            return False
        sending(True)
        try:
            await calls.questions.answer(run_id, question.id, read_answer(question, typed))
        except InvalidInput as error:
            output.line(error.advice)
        except Conflict as error:
            output.line(
                f"somebody else was faster: {error.message}" if error.code == "question_closed" else error.advice
            )
            return True
        else:
            return True
        finally:
            sending(False)
