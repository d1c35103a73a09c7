"""`fabro ps`. Above: main. Below: calls, output."""

from datetime import datetime
from typing import Annotated

import typer

from fabro.calls import Calls, RunListQuery
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server
from fabro.cli.visible import age, duration
from fabro.clock import SystemClock
from fabro.projections.run_view import RunView
from fabro.run.status import StatusKind

SHORT_ID = 12
"""Characters of an id that a list shows: its time to the millisecond and two more."""
LARGEST_PAGE = 100
HEADINGS = ("RUN", "WORKFLOW", "TITLE", "STATUS", "AGE", "TOOK")
UNFINISHED = frozenset(kind for kind in StatusKind if not kind.is_terminal)


def ps(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Ended runs, too.")] = False,
    status: Annotated[
        list[StatusKind] | None, typer.Option("--status", help="Only runs of this status; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
) -> None:
    """List runs.

    Newest first; those that have not ended, or with --all every one. With --json each is a full object.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    statuses = frozenset(status) if status else frozenset[StatusKind]() if everything else UNFINISHED
    runs, more = ask_server(chosen, lambda calls: list_runs(calls, statuses, limit))
    if output.as_json:
        output.json(runs)
    elif output.quiet:
        for run in runs:
            output.line(run.id)
    elif runs:
        now = SystemClock().now()
        output.table(HEADINGS, [row(run, now) for run in runs], elastic="TITLE")
    else:
        output.note("no runs" if everything else "no unfinished runs; `fabro ps --all` lists those that have ended")
    if more and not output.as_json:
        output.note(f"and more; --limit {min(10 * limit, 10_000)} shows more")


async def list_runs(calls: Calls, statuses: frozenset[StatusKind], limit: int) -> tuple[list[RunView], bool]:
    """The newest runs of these statuses (of any, where none is named), and whether there are more."""
    found: list[RunView] = []
    cursor: str | None = None
    while len(found) < limit:
        size = min(LARGEST_PAGE, limit - len(found))
        page = await calls.runs.list(RunListQuery(statuses=statuses, limit=size, cursor=cursor))
        found.extend(page.data)
        cursor = page.next_cursor
        if cursor is None:
            break
    return found, cursor is not None


def row(run: RunView, now: datetime) -> tuple[str, ...]:
    """A run's line in the table."""
    times = run.timestamps
    took = duration((times.completed_at or now) - times.started_at) if times.started_at else "-"
    return (
        run.id[:SHORT_ID],
        run.workflow.slug,
        run.title,
        status_word(run),
        age(now - times.created_at),
        took,
    )


def status_word(run: RunView) -> str:
    """The status in one word; a run that is being or was cancelled is told from one that failed."""
    status = run.lifecycle.status
    if run.lifecycle.pending_control == "cancel":
        return "cancelling"
    return "cancelled" if status.reason == "cancelled" else str(status.kind)
