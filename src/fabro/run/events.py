"""What can happen to a run: one frozen value for each event. Above: state, projections, store, engine. Below: the
run's other facts.

Names and properties follow reference/mcp-server.md §6. An event holds only what happened; whatever can be folded
from earlier events or read from the graph is not repeated (docs/events.md has the table).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, get_args

from fabro.ids import RunId, StageId
from fabro.json_value import JsonValue
from fabro.run.outcome import Failure, Outcome, OutcomeStatus
from fabro.run.run_events import (
    CheckpointCompleted,
    EdgeSelected,
    RunBlocked,
    RunCancelRequested,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunNotice,
    RunRunnable,
    RunRunning,
    RunStarted,
    RunStarting,
    RunStartRequested,
    RunSubmitted,
    RunUnblocked,
)
from fabro.run.stage_events import (
    CommandCompleted,
    CommandStarted,
    InterviewCompleted,
    InterviewInterrupted,
    InterviewStarted,
    InterviewTimeout,
    PromptCompleted,
    StageCompleted,
    StageFailed,
    StagePrompt,
    StageStarted,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownEvent:
    """An event that this version does not know: kept as it is, and without effect on the state."""

    name: str
    properties: Mapping[str, JsonValue]


Event: TypeAlias = (
    RunCreated
    | RunSubmitted
    | RunStartRequested
    | RunRunnable
    | RunStarting
    | RunStarted
    | RunRunning
    | RunBlocked
    | RunUnblocked
    | RunCancelRequested
    | RunCompleted
    | RunFailed
    | RunNotice
    | StageStarted
    | StageCompleted
    | StageFailed
    | StagePrompt
    | PromptCompleted
    | CommandStarted
    | CommandCompleted
    | InterviewStarted
    | InterviewCompleted
    | InterviewTimeout
    | InterviewInterrupted
    | EdgeSelected
    | CheckpointCompleted
    | UnknownEvent
)

KNOWN_EVENTS: Mapping[str, type[Event]] = {kind.name: kind for kind in get_args(Event) if kind is not UnknownEvent}
"""Event classes by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEvent:
    """An event in its place: `seq` counts from 1 without gaps within the run."""

    run_id: RunId
    seq: int
    at: datetime
    event: Event

    @property
    def id(self) -> str:
        """The event's id, unique everywhere and derived from its place."""
        return f"{self.run_id}-{self.seq}"


def stage_end(stage: StageId, outcome: Outcome, *, duration_ms: int) -> StageCompleted | StageFailed:
    """The event that records a stage's outcome."""
    if outcome.status is OutcomeStatus.FAILED:
        return StageFailed(
            stage_id=stage,
            failure=outcome.failure or Failure(message="failed without a reason"),
            duration_ms=duration_ms,
            preferred_label=outcome.preferred_label,
            suggested_next_ids=outcome.suggested_next,
            context_updates=outcome.context_updates,
        )
    return StageCompleted(
        stage_id=stage,
        status=outcome.status,
        duration_ms=duration_ms,
        preferred_label=outcome.preferred_label,
        suggested_next_ids=outcome.suggested_next,
        context_updates=outcome.context_updates,
        notes=outcome.notes,
    )


def outcome_of(event: StageCompleted | StageFailed) -> Outcome:
    """The outcome that a stage's last event records."""
    failed = isinstance(event, StageFailed)
    return Outcome(
        status=OutcomeStatus.FAILED if failed else event.status,
        preferred_label=event.preferred_label,
        suggested_next=event.suggested_next_ids,
        context_updates=event.context_updates,
        notes=None if failed else event.notes,
        failure=event.failure if failed else None,
    )
