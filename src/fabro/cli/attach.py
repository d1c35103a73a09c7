"""`fabro attach`, and what `run` shares with it: follow, detach, end with an exit code. Above: main, run.
Below: following.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from fabro.calls import Calls
from fabro.cli.ask import Terminal
from fabro.cli.boundary import BLOCKED, FAILURE, INTERRUPTED
from fabro.cli.follow import Follower, view_for
from fabro.cli.options import settings
from fabro.cli.output import Output, output_for
from fabro.cli.session import ask_server
from fabro.cli.streams import stdin_is_terminal
from fabro.ids import RunId
from fabro.projections.run_view import RunView
from fabro.run.status import StatusKind


@dataclass(slots=True)
class Attached:
    """Which run is followed, once there is one."""

    run_id: RunId | None = None


def attach(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="An id's beginning, or a workflow's name.")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Without a terminal: keep waiting while the run waits for an answer.")
    ] = False,
) -> None:
    """Show a run's progress until it ends.

    Questions are asked at a terminal. Ctrl-C leaves the run going. Exit codes are those of `fabro run`.
    """
    chosen = settings(ctx)
    output = output_for(chosen)

    async def watch(calls: Calls) -> RunView:
        found = await calls.runs.get(await calls.runs.resolve(run))
        return await follow(calls, found, output, stay=wait, attached=holder)

    with attached(output) as holder:
        ended = ask_server(chosen, watch)
    raise typer.Exit(exit_code(ended))


async def follow(calls: Calls, run: RunView, output: Output, *, stay: bool, attached: Attached) -> RunView:
    """Follow a run to its end, or to where it waits and nobody can be asked; the run as it then stands."""
    attached.run_id = run.id
    may_ask = stdin_is_terminal() and output.out.isatty() and not output.as_json
    if not output.as_json:
        output.note(f"run {run.id}  {run.workflow.slug}  {run.title}")
    with view_for(output) as view:
        terminal = Terminal() if may_ask else None
        stay = stay or (stdin_is_terminal() and not output.as_json)
        await Follower(calls, run, view, output, terminal=terminal, stay=stay).follow()
    ended = await calls.runs.get(run.id)
    if output.as_json:
        output.jsonl({"run": ended})
    return ended


@contextmanager
def attached(output: Output) -> Generator[Attached]:
    """Turn Ctrl-C into leaving the run alone, and say so."""
    holder = Attached()
    try:
        yield holder
    except KeyboardInterrupt:
        run_id = holder.run_id
        if run_id is not None:
            output.note(
                f"\ndetached; the run goes on\nwatch it again: fabro attach {run_id}\nend it: fabro cancel {run_id}"
            )
        raise typer.Exit(INTERRUPTED) from None


def exit_code(run: RunView) -> int:
    """0 for a run that succeeded, 5 for one that waits for an answer, 1 for any other."""
    match run.lifecycle.status.kind:
        case StatusKind.SUCCEEDED:
            return 0
        case StatusKind.BLOCKED:
            return BLOCKED
        case _:
            return FAILURE
