"""A run in full, in a size that a model can take in. Above: run_get. Below: stages, the calls' views.

Names follow reference/mcp-server.md §6 (RunProjection). Long texts lose their middle, and of long lists the newest
entries stand here, with the number of those left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from fabro.calls import QuestionView, RunStateView
from fabro.clock import to_text
from fabro.json_value import JsonObject
from fabro.mcp_server.json_text import cut, plain, plain_object, within
from fabro.mcp_server.stages import LONG_TEXT, SHORT_TEXT, choose
from fabro.projections.detail import StageView

CHECKPOINTS = 20
NOTICES = 20


class StagesLeftOut(BaseModel):
    """Stages for which there was no room."""

    count: int = Field(description="How many stages are left out.")
    by_state: dict[str, int] = Field(description="How many of them are in which state.")
    how_to_read: str = Field(description="How to read the rest.")


class Projection(BaseModel):
    """Everything about a run, within bounds."""

    title: str = Field(description="The run's title.")
    status: Mapping[str, object] = Field(description="`kind`, and `reason` where there is one.")
    pending_control: str | None = Field(description="cancel, from the request until the run has ended.")
    last_event_at: str = Field(description="When the last event happened, RFC 3339, UTC.")
    last_event_seq: int = Field(description="The last event's sequence number.")
    spec: Mapping[str, object] = Field(description="What was asked for: version, target, inputs, client.")
    start: Mapping[str, object] | None = Field(description="start_time and working_directory, once it has started.")
    stages: Mapping[str, Mapping[str, object]] = Field(
        description="By stage id `node@n`, in the order in which they started: state, prompt and response, script "
        "and output, question and answer, failure. `first_event_seq` is where a stage's events begin."
    )
    stages_left_out: StagesLeftOut | None = Field(description="Null when all stages are here.")
    checkpoints: Sequence[Mapping[str, object]] = Field(description="The newest places to go on from.")
    checkpoints_left_out: int = Field(description="How many older checkpoints are left out.")
    pending_interviews: Mapping[str, Mapping[str, object]] = Field(description="Open questions by id.")
    notices: Sequence[str] = Field(description="The newest notices.")
    notices_left_out: int = Field(description="How many older notices are left out.")
    usage: Mapping[str, object] = Field(description="Tokens and cost of all model calls.")
    conclusion: Mapping[str, object] | None = Field(description="Time, status and failure, once the run has ended.")


def project(state: RunStateView) -> Projection:
    """The projection of a run."""
    run = state.run
    stages = choose(state.stages)
    return Projection(
        title=run.title,
        status=plain_object(run.lifecycle.status, LONG_TEXT),
        pending_control=run.lifecycle.pending_control,
        last_event_at=to_text(run.timestamps.last_event_at),
        last_event_seq=run.last_seq,
        spec=_spec(state),
        start=_start(state),
        stages={str(name): shown for name, shown in stages.items()},
        stages_left_out=_left_out([one for one in state.stages if one.stage_id not in stages]),
        checkpoints=[plain_object(one, LONG_TEXT) for one in state.checkpoints[-CHECKPOINTS:]],
        checkpoints_left_out=max(0, len(state.checkpoints) - CHECKPOINTS),
        pending_interviews={str(one.id): question_result(one) for one in state.questions},
        notices=[cut(one, SHORT_TEXT) for one in state.notices[-NOTICES:]],
        notices_left_out=max(0, len(state.notices) - NOTICES),
        usage=plain_object(run.usage, LONG_TEXT),
        conclusion=_conclusion(state),
    )


def question_result(question: QuestionView) -> JsonObject:
    """An open question."""
    return plain_object(question, LONG_TEXT)


def _spec(state: RunStateView) -> JsonObject:
    run = state.run
    return {
        "run_id": run.id,
        "workflow_version_id": run.workflow.version_id,
        "workflow_slug": run.workflow.slug,
        "target": plain(run.target, LONG_TEXT),
        "inputs": within(state.inputs),
        "dry_run": run.dry_run,
        "client": run.client,
    }


def _start(state: RunStateView) -> JsonObject | None:
    times = state.run.timestamps
    if times.started_at is None:
        return None
    return {"start_time": to_text(times.started_at), "working_directory": state.run.working_directory}


def _conclusion(state: RunStateView) -> JsonObject | None:
    times, lifecycle = state.run.timestamps, state.run.lifecycle
    if times.completed_at is None:
        return None
    return {
        "timestamp": to_text(times.completed_at),
        "status": str(lifecycle.status),
        "failure": cut(lifecycle.error.message, LONG_TEXT) if lifecycle.error else None,
        "stage_count": len(state.stages),
    }


def _left_out(stages: Sequence[StageView]) -> StagesLeftOut | None:
    if not stages:
        return None
    return StagesLeftOut(
        count=len(stages),
        by_state=dict(Counter(str(stage.state) for stage in stages)),
        how_to_read="fabro_run_events with action list pages through everything that happened.",
    )
