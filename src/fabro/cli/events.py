"""`fabro events`. Above: main. Below: calls, output."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import typer

from fabro.calls import Calls, EventQuery
from fabro.cli.arguments import Run
from fabro.cli.boundary import Usage
from fabro.cli.lines import summary
from fabro.cli.options import settings
from fabro.cli.output import Output, output_for
from fabro.cli.session import ask_server
from fabro.ids import RunId
from fabro.projections.envelope import EventEnvelope, to_json_object

BATCH = 500


def events(
    ctx: typer.Context,
    run: Run,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    after: Annotated[int | None, typer.Option("--after", min=0, help="Only events after this number.")] = None,
    number: Annotated[
        int | None, typer.Option("-n", "--number", min=1, help="The last so many; with --after the next so many.")
    ] = None,
) -> None:
    """Show what happened in a run.

    One line for each event; with --json one object for each.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    if follow and after is not None and number is not None:
        raise Usage("--follow with --after knows no --number")

    async def act(calls: Calls) -> None:
        run_id = await calls.runs.resolve(run)
        seen = after or 0
        if number is not None and after is None:
            seen = max(0, (await calls.runs.get(run_id)).last_seq - number)
        async with aclosing(_pages(calls, run_id, after=seen, number=number)) as found:
            async for event in found:
                _print(event, output)
                seen = event.seq
        if follow:
            async with aclosing(calls.events.follow(run_id, after=seen)) as news:
                async for event in news:
                    _print(event, output)

    ask_server(chosen, act)


async def _pages(calls: Calls, run_id: RunId, *, after: int, number: int | None) -> AsyncGenerator[EventEnvelope]:
    """The log from a place on, as far as it goes now."""
    left = number
    while left is None or left > 0:
        page = await calls.events.list(run_id, EventQuery(after=after, limit=min(BATCH, left or BATCH)))
        for event in page.data:
            yield event
            after = event.seq
        left = None if left is None else left - len(page.data)
        if not page.has_more:
            return


def _print(event: EventEnvelope, output: Output) -> None:
    if output.as_json:
        output.jsonl(to_json_object(event))
    else:
        output.line(summary(event))
