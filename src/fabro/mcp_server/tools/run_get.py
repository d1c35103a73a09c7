"""`fabro_run_get`: look at a run. Above: the catalogue. Below: results, the projection, the calls.

Source: reference/mcp-server.md §1.4.
"""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from fabro.mcp_server.projection import Projection, project, question_result
from fabro.mcp_server.results import RunSummaryResult, summary_result
from fabro.mcp_server.tools.arguments import Arguments
from fabro.mcp_server.tools.selectors import RUN_SELECTOR, check_selector, resolve
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define


class RunGetArguments(Arguments):
    """A run to look at."""

    misnamed = {"id": "run_id", "run": "run_id", "run_ids": "run_id"}

    run_id: str = Field(description=f"{RUN_SELECTOR}.")


class RunGetResult(BaseModel):
    """A run from near and far."""

    run_id: str = Field(description="The run's whole id.")
    summary: RunSummaryResult = Field(description="Where the run stands.")
    projection: Projection = Field(description="What happened in it, stage by stage.")
    questions: Sequence[Mapping[str, object]] = Field(
        description="Questions that wait for an answer: id, stage, text, question_type, options (key, label), "
        "allow_freeform, timeout_seconds."
    )


async def get_run(session: Session, arguments: RunGetArguments) -> Answer:
    """Summary, projection and questions of a run, read at one moment.

    Raises:
        InvalidInput, NotFound: the selector means no run, or several.
    """
    selector = check_selector(arguments.run_id)
    calls = await session.backend.calls()
    state = await calls.runs.state(await resolve(calls, selector))
    run = state.run
    waiting = f", {len(state.questions)} question(s) waiting" if state.questions else ""
    return Answer(
        result=RunGetResult(
            run_id=run.id,
            summary=summary_result(run),
            projection=project(state),
            questions=[question_result(one) for one in state.questions],
        ),
        text=f"Returned Fabro run {run.id}: {run.lifecycle.status}, {len(state.stages)} stage(s){waiting}",
    )


RUN_GET = define(
    get_run,
    name="fabro_run_get",
    title="Look at a run",
    description=(
        "Shows one run without changing anything: its summary (status, reason, error, times), its projection "
        "(every stage with prompt, response, script, output, failure) and the questions that wait for an answer. "
        "Use it to see why a run failed or what it is doing now.\n\n"
        "The answer stays below about 200 KB: long texts lose their middle, and of very many stages the failed, "
        "the unfinished and the newest are shown, with counts of what is left out. Read the rest with "
        "fabro_run_events. To wait for a run, use fabro_run_gather instead of calling this again and again."
    ),
    takes=RunGetArguments,
    gives=RunGetResult,
    hints=Hints(reads_only=True, is_idempotent=True),
)
