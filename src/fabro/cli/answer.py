"""`fabro answer`. Above: main. Below: calls, ask."""

from typing import Annotated

import typer

from fabro.calls import Calls, QuestionView
from fabro.cli.arguments import Run
from fabro.cli.ask import read_answer
from fabro.cli.boundary import Usage
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server
from fabro.errors import Conflict
from fabro.ids import RunId


def answer(
    ctx: typer.Context,
    run: Run,
    words: Annotated[
        list[str],
        typer.Argument(metavar="[QUESTION] ANSWER", help="yes, no, an option's key or label, or text."),
    ],
) -> None:
    """Answer a run's question.

    The question may be left out when exactly one is open. An answer that does not fit is refused and the question
    stays open. Put -- before an answer that begins with a dash.
    """
    if len(words) > 2:
        raise Usage(
            f"{len(words)} words for an answer; wanted [QUESTION] ANSWER", hint="Quote an answer of several words."
        )
    chosen = settings(ctx)
    output = output_for(chosen)

    async def act(calls: Calls) -> QuestionView:
        run_id = await calls.runs.resolve(run)
        question = await _question(calls, run_id, words[0] if len(words) == 2 else None)
        await calls.questions.answer(run_id, question.id, read_answer(question, words[-1]))
        return question

    question = ask_server(chosen, act)
    if output.as_json:
        output.json({"run_id": question.run_id, "question_id": question.id})
    else:
        output.note(f"answered question {question.id} of run {question.run_id}")


async def _question(calls: Calls, run_id: RunId, wanted: str | None) -> QuestionView:
    found = await calls.questions.list(run_id)
    matching = [question for question in found if wanted in (None, question.id)]
    if len(matching) == 1:
        return matching[0]
    if wanted is None and len(matching) > 1:
        names = ", ".join(question.id for question in matching)
        raise Usage(
            f"run {run_id} asks {len(matching)} questions: {names}",
            hint="Say which: fabro answer RUN QUESTION ANSWER.",
        )
    named = "no question" if wanted is None else f"no question {wanted!r}"
    raise Conflict(
        f"{named} of run {run_id} is open",
        code="question_closed",
        hint=f"`fabro questions {run_id}` lists those that are.",
    )
