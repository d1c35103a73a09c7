"""`fabro_run_gather`: wait for runs. Above: the catalogue. Below: the calls.

Source: reference/mcp-server.md §1.6, design §8, known fault S-07: a client that gets no progress gives up after
about a minute, so a call that can't report any comes back before that with what it knows. So does every call when
the client has ended its input.
"""

from functools import partial
from typing import Annotated

from pydantic import BaseModel, Field

from fabro.calls import Calls, Until, Waited
from fabro.ids import RunId
from fabro.mcp_server.results import (
    LONGEST_GOAL_IN_LISTS,
    RunSummaryResult,
    counted_statuses,
    summary_result,
)
from fabro.mcp_server.tools.arguments import Arguments, JsonList
from fabro.mcp_server.tools.selectors import RUN_SELECTOR, check_selector, resolve_all
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define
from fabro.race import race


class RunGatherArguments(Arguments):
    """Runs to wait for."""

    misnamed = {
        "run_id": "run_ids",
        "runs": "run_ids",
        "timeout": "timeout_seconds",
        "timeout_ms": "timeout_seconds",
    }

    run_ids: Annotated[JsonList[str], Field(min_length=1, max_length=50)] = Field(
        description=f"1 to 50 runs. {RUN_SELECTOR}."
    )
    timeout_seconds: int = Field(
        default=300, ge=0, le=600, description="How long to wait at most, 0 to 600. 0 looks once and returns."
    )
    poll_interval_seconds: int = Field(
        default=15, ge=5, description="Accepted and not needed: the call wakes as soon as a run changes."
    )
    until: Until = Field(
        default="terminal",
        description="terminal: wait for the end of every run. blocked: a run that waits for an answer counts too.",
    )


class RunGatherResult(BaseModel):
    """The runs as they stood when the wait ended."""

    runs: list[RunSummaryResult] = Field(description="The runs, in the order of the call.")
    timed_out: bool = Field(description="Whether the time was up before every run was there.")
    elapsed_seconds: float = Field(description="How long the call waited.")


async def gather_runs(session: Session, arguments: RunGatherArguments) -> Answer:
    """Wait until every run is there or the time is up; the latter is a result and no error.

    Raises:
        InvalidInput, NotFound: a selector means no run, or several.
    """
    selectors = [check_selector(one, f"run_ids[{index}]") for index, one in enumerate(arguments.run_ids)]
    begun = session.clock.monotonic()
    calls = await session.backend.calls()
    run_ids = await resolve_all(calls, selectors)
    waited = await _wait(session, calls, run_ids, arguments, begun)
    elapsed = round(session.clock.monotonic() - begun, 3)
    runs = [summary_result(run, longest_goal=LONGEST_GOAL_IN_LISTS) for run in waited.runs]
    return Answer(
        result=RunGatherResult(runs=runs, timed_out=waited.timed_out, elapsed_seconds=elapsed),
        text=f"Gathered {len(runs)} Fabro run(s) in {elapsed:.1f} s, timed_out={str(waited.timed_out).lower()}: "
        + counted_statuses(waited.runs),
    )


async def _wait(
    session: Session, calls: Calls, run_ids: list[RunId], arguments: RunGatherArguments, begun: float
) -> Waited:
    """Wait in stretches, with a sign of life after each; the end of the session ends the wait."""
    wait = partial(calls.runs.wait, run_ids, until=arguments.until)
    limit = float(arguments.timeout_seconds)
    if session.progress is None:
        limit = min(limit, session.pace.unreported)
    while True:
        left = max(0.0, begun + limit - session.clock.monotonic())
        stretch = left if session.progress is None else min(left, session.pace.report)
        waited = await race(partial(wait, timeout_seconds=stretch), session.ending.wait)
        if waited is None:
            return await wait(timeout_seconds=0.0)
        elapsed = session.clock.monotonic() - begun
        if not waited.timed_out or elapsed >= limit:
            return waited
        if session.progress is not None:
            await session.progress(elapsed, limit, f"waiting: {counted_statuses(waited.runs)}")


RUN_GATHER = define(
    gather_runs,
    name="fabro_run_gather",
    title="Wait for runs",
    description=(
        "Waits until all given runs have ended (succeeded, failed or dead) and returns their summaries. When the "
        "time is up first, it returns their current state with timed_out true; that is no error, the runs go on, "
        "and you can call again. It wakes the moment a run changes.\n\n"
        "Clients that send a progress token get a sign of life at least every 10 seconds and the whole "
        "`timeout_seconds`. Without a token the call comes back after 50 seconds at most, with timed_out true: "
        'just call again.\n\nUse `until`: "blocked" to come back as well when a run waits for an answer; '
        "fabro_run_get shows its questions. Cancelling the call ends the wait and never a run."
    ),
    takes=RunGatherArguments,
    gives=RunGatherResult,
    hints=Hints(reads_only=True, is_idempotent=True),
)
