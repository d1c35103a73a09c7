"""`fabro wait`. Above: main. Below: calls, output."""

from collections.abc import Sequence
from typing import Annotated

import typer

from fabro.calls import Calls, Until, Waited
from fabro.cli.arguments import Runs
from fabro.cli.attach import exit_code
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.ps import status_word
from fabro.cli.session import ask_server
from fabro.cli.visible import visible_line
from fabro.clock import SystemClock
from fabro.errors import Unavailable
from fabro.ids import RunId

LONGEST_CALL_SECONDS = 50.0
"""One call to the server waits no longer; waiting goes on with the next."""


def wait(
    ctx: typer.Context,
    runs: Runs,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, metavar="SECONDS", help="Give up after so long.")
    ] = None,
    until: Annotated[
        Until, typer.Option("--until", help="terminal: until all have ended; blocked: or wait for an answer.")
    ] = "terminal",
) -> None:
    """Wait until runs have ended.

    The exit code is 0 only when all of them succeeded, 5 when one of them waits for an answer, else 1.
    """
    chosen = settings(ctx)
    output = output_for(chosen)

    async def act(calls: Calls) -> Waited:
        ids = [await calls.runs.resolve(run) for run in runs]
        return await wait_for(calls, list(dict.fromkeys(ids)), until=until, seconds=timeout)

    waited = ask_server(chosen, act)
    if output.as_json:
        output.json(waited)
    else:
        for run in waited.runs:
            error = f"  {visible_line(run.lifecycle.error.message)}" if run.lifecycle.error else ""
            output.line(f"{run.id}  {status_word(run)}{error}")
    if waited.timed_out:
        raise Unavailable(f"the time of {timeout:g} s is up and not all runs are there", code="timeout")
    raise typer.Exit(max((exit_code(run) for run in waited.runs), default=0))


async def wait_for(calls: Calls, run_ids: Sequence[RunId], *, until: Until, seconds: float | None) -> Waited:
    """Wait in calls of bounded length, until all runs are there or the time is up."""
    clock = SystemClock()
    deadline = None if seconds is None else clock.monotonic() + seconds
    while True:
        left = LONGEST_CALL_SECONDS if deadline is None else max(0.0, deadline - clock.monotonic())
        waited = await calls.runs.wait(run_ids, until=until, timeout_seconds=min(LONGEST_CALL_SECONDS, left))
        if not waited.timed_out or (deadline is not None and clock.monotonic() >= deadline):
            return waited
