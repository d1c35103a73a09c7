"""`fabro questions`. Above: main. Below: calls, output."""

import typer

from fabro.calls import Calls, QuestionView
from fabro.cli.arguments import Run
from fabro.cli.ask import describe
from fabro.cli.follow import how_to_answer
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server


def questions(ctx: typer.Context, run: Run) -> None:
    """List a run's open questions.

    Each with its options and the command that answers it.
    """
    chosen = settings(ctx)
    output = output_for(chosen)

    async def act(calls: Calls) -> tuple[QuestionView, ...]:
        return await calls.questions.list(await calls.runs.resolve(run))

    found = ask_server(chosen, act)
    if output.as_json:
        output.json(found)
        return
    for question in found:
        output.line(f"{describe(question)}\n{how_to_answer(question.run_id, question.id)}")
    if not found:
        output.note("no open questions")
