"""`fabro_run_create`: create runs and start them. Above: the catalogue. Below: run_intent, the calls.

Source: seed 000 "Create runs"; reference/mcp-server.md §1.2.
"""

from typing import Annotated

from pydantic import BaseModel, Field

from fabro.calls import Calls, RunIntent
from fabro.errors import FabroError, Unavailable
from fabro.ids import RunId
from fabro.mcp_server.tools.arguments import Arguments, JsonList
from fabro.mcp_server.tools.run_intent import RunItem, intent_of
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define
from fabro.projections.run_view import RunView

NAMED = 3
"""How many new runs the line of text names."""
LOOK_FOR_RUN = (
    "It is not known whether the server did it. Look before you try again: fabro_run_get with the workflow's name "
    "shows its newest run, `fabro ps --all` lists all runs."
)
"""What to do when nothing came back about a run that was to be created."""
LOOK_FOR_START = "It is not known whether the server did it: fabro_run_events shows whether the run was started."
"""What to do when nothing came back about a start."""


class RunCreateArguments(Arguments):
    """Runs to create."""

    misnamed = {"run": "runs", "items": "runs", "workflow_version_id": "runs[0].workflow_version_id"}

    runs: Annotated[JsonList[RunItem], Field(min_length=1, max_length=50)] = Field(
        description="1 to 50 runs, created one after the other."
    )


class CreatedRun(BaseModel):
    """One new run."""

    run_id: str = Field(description="The new run's id.")
    parent_id: str | None = Field(description="The run that it is a child of.")
    children_count: int = Field(description="How many runs are children of it.")
    workflow_version_id: str = Field(description="The version that it follows.")
    start_requested: bool = Field(description="Whether it was asked to start.")
    status: str = Field(description="Its status when this answer was made.")


class RunCreateResult(BaseModel):
    """The new runs."""

    runs: list[CreatedRun] = Field(description="The new runs, in the order of the call.")


async def create_runs(session: Session, arguments: RunCreateArguments) -> Answer:
    """Create and start one run after the other; the first failure ends the call.

    Raises:
        FabroError: an item was refused, or no answer came about it. The message says which one, what is known of
            it, and which runs exist already.
    """
    intents = [intent_of(item, f"runs[{index}]") for index, item in enumerate(arguments.runs)]
    created: list[CreatedRun] = []
    calls = await session.backend.calls()
    for index, (item, intent) in enumerate(zip(arguments.runs, intents, strict=True)):
        created.append(await _create(calls, intent, start=item.start is not False, index=index, before=created))
    started = sum(run.start_requested for run in created)
    named = ", ".join(run.run_id for run in created[:NAMED]) + (", …" if len(created) > NAMED else "")
    return Answer(
        result=RunCreateResult(runs=created),
        text=f"Created {len(created)} Fabro run(s), start requested for {started}: {named}",
    )


async def _create(
    calls: Calls, intent: RunIntent, *, start: bool, index: int, before: list[CreatedRun]
) -> CreatedRun:
    known = [RunId(run.run_id) for run in before]
    try:
        run = await calls.runs.create(intent)
    except FabroError as error:
        outcome, look = _outcome(error, "may have been created", "was not created", LOOK_FOR_RUN)
        raise _stopped(error, f"runs[{index}] {outcome}", known, look) from error
    if start:
        try:
            run = await calls.runs.start(run.id)
        except FabroError as error:
            outcome, look = _outcome(error, "may have been started", "its start failed", LOOK_FOR_START)
            problem = f"runs[{index}] was created as {run.id} and {outcome}"
            raise _stopped(error, problem, [*known, run.id], look) from error
    return _result(run, start_requested=start)


def _result(run: RunView, *, start_requested: bool) -> CreatedRun:
    return CreatedRun(
        run_id=run.id,
        parent_id=run.parent_id,
        children_count=run.children_count,
        workflow_version_id=run.workflow.version_id,
        start_requested=start_requested,
        status=run.lifecycle.status.kind,
    )


def _outcome(error: FabroError, doubtful: str, failed: str, look: str) -> tuple[str, str | None]:
    """What is known after an error, and where to look when that is not enough.

    A refusal is an answer; without one (the connection broke, or the time was up) the request may have arrived.
    """
    return (doubtful, look) if isinstance(error, Unavailable) else (failed, None)


def _stopped(error: FabroError, problem: str, created: list[RunId], look: str | None) -> FabroError:
    """The error with what a caller must know before trying again. Source: known fault S-16."""
    undone: str | None = None
    if created:
        problem = f"{problem}; already created run IDs: {', '.join(created)}"
        undone = (
            "Nothing was undone: inspect these runs with fabro_run_get before you try again, and leave out those "
            "that exist."
        )
    advice = " ".join(part for part in (look, undone, error.hint) if part)
    return FabroError(f"{problem}: {error.message}", code=error.code, hint=advice or None, details=error.details)


RUN_CREATE = define(
    create_runs,
    name="fabro_run_create",
    title="Create runs",
    description=(
        "Creates one or more workflow runs from a registered version and starts them, unless `start` is false. "
        "Returns at once with the run ids; the runs go on by themselves. Follow with fabro_run_gather to wait, or "
        "fabro_run_get to look.\n\n"
        "Each run needs a `workflow_version_id` from fabro_workflow_version_create (the same id serves any number "
        "of runs) and a `target`, the place where it works.\n\n"
        "A batch is created in order and stops at the first failure. The error then lists the runs that exist "
        "already: inspect them before you try again, or you will create them twice.\n\n"
        'Example: {"runs": [{"workflow_version_id": "<64 hex digits>", "target": {"kind": "none"}, "goal": '
        '"Review the checkout.", "args": {"inputs": {"component": "checkout"}, "labels": {"source": "mcp"}}}]}'
    ),
    takes=RunCreateArguments,
    gives=RunCreateResult,
    hints=Hints(reads_only=False, destroys=True, reaches_out=True),
)
