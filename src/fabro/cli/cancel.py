"""`fabro cancel`. Above: main. Below: calls, output."""

import sys
from typing import Annotated

import typer

from fabro.calls import Calls
from fabro.cli.boundary import FAILURE, Usage, say
from fabro.cli.options import settings
from fabro.cli.output import Output, output_for
from fabro.cli.ps import UNFINISHED, list_runs
from fabro.cli.session import ask_server
from fabro.cli.streams import stdin_is_terminal
from fabro.cli.visible import visible_line
from fabro.errors import FabroError
from fabro.projections.run_view import RunView

MOST_AT_ONCE = 10_000


def cancel(
    ctx: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Beginnings of run ids, or workflows' names.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every run that has not ended.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before cancelling all.")] = False,
) -> None:
    """End runs before they are done.

    What executes is stopped; it may take some seconds until a run has ended. With --all you are asked first.
    """
    if bool(runs) == everything:
        raise Usage("name the runs to cancel, or --all for every unfinished one")
    if everything and not yes and not stdin_is_terminal():
        raise Usage("--all is not asked for here: there is no terminal", hint="Add --yes.")
    chosen = settings(ctx)
    output = output_for(chosen)
    if runs:
        cancelled, failed = ask_server(chosen, lambda calls: _cancel_named(calls, runs, output))
    else:
        found, _ = ask_server(chosen, lambda calls: list_runs(calls, UNFINISHED, MOST_AT_ONCE))
        if not found or not (yes or _is_sure(found, output)):
            output.note("nothing was cancelled")
            found = []
        cancelled, failed = ask_server(
            chosen, lambda calls: _cancel_named(calls, [run.id for run in found], output)
        )
    if output.as_json:
        output.json(cancelled)
    if failed:
        raise typer.Exit(FAILURE)


async def _cancel_named(calls: Calls, selectors: list[str], output: Output) -> tuple[list[RunView], int]:
    """Cancel each; what can't be cancelled is said and does not keep the others from it."""
    cancelled: list[RunView] = []
    failed = 0
    for selector in selectors:
        try:
            run = await calls.runs.cancel(await calls.runs.resolve(selector))
        except FabroError as error:
            say(error, as_json=output.as_json)
            failed += 1
        else:
            cancelled.append(run)
            if not output.as_json:
                ended = run.lifecycle.status.kind.is_terminal
                output.line(f"{run.id}  {'cancelled' if ended else 'cancelling'}")
    return cancelled, failed


def _is_sure(found: list[RunView], output: Output) -> bool:
    for run in found[:20]:
        output.note(f"{run.id}  {run.workflow.slug}  {visible_line(run.title)}")
    print(f"cancel {len(found)} runs? [y/N] ", end="", file=output.err, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
