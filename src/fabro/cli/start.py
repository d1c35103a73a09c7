"""`fabro start`. Above: main. Below: calls."""

import typer

from fabro.calls import Calls
from fabro.cli.arguments import Run
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server
from fabro.projections.run_view import RunView


def start(ctx: typer.Context, run: Run) -> None:
    """Start a run that was created.

    Returns at once; `fabro attach` watches it.
    """
    chosen = settings(ctx)
    output = output_for(chosen)

    async def act(calls: Calls) -> RunView:
        return await calls.runs.start(await calls.runs.resolve(run))

    started = ask_server(chosen, act)
    if output.as_json:
        output.json(started)
    else:
        output.line(started.id)
        output.note(f"watch it: fabro attach {started.id}")
