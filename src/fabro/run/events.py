"""What can happen to a run: one frozen value for each event. Above: state, projections, store, engine. Below: the
run's other facts.

Names and properties follow reference/mcp-server.md §6. An event holds only what happened; whatever can be folded
from earlier events or read from the graph is not repeated (docs/events.md has the table).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Literal, TypeAlias, get_args

from fabro.ids import BlobId, NodeId, QuestionId, RunId, StageId
from fabro.json_value import JsonValue
from fabro.run.outcome import Failure, Outcome, OutcomeStatus
from fabro.run.question import Answer, Option, Question, QuestionKind
from fabro.run.spec import RunSpec
from fabro.run.status import FailureReason, SuccessReason
from fabro.run.usage import Usage

Termination: TypeAlias = Literal["exited", "signaled", "timed_out", "cancelled", "not_started"]
"""How a command ended."""
RouteReason: TypeAlias = Literal["condition", "preferred_label", "suggested_next", "unconditional", "jump"]
"""Why an edge was taken."""
NoticeLevel: TypeAlias = Literal["info", "warn", "error"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCreated:
    """A run exists; the first event of every log."""

    name: ClassVar = "run.created"
    spec: RunSpec
    parent_id: RunId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSubmitted:
    """The run waits for a start request."""

    name: ClassVar = "run.submitted"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStartRequested:
    """Somebody asked for the run to start."""

    name: ClassVar = "run.start_requested"
    resume: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRunnable:
    """The run waits for a place to execute."""

    name: ClassVar = "run.runnable"
    source: Literal["start_requested", "approved"] = "start_requested"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarting:
    """The run has a place and its workspace is being made."""

    name: ClassVar = "run.starting"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """The workspace is ready: the absolute path of the folder where commands run."""

    name: ClassVar = "run.started"
    working_directory: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRunning:
    """Stages execute."""

    name: ClassVar = "run.running"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunBlocked:
    """The run can't go on until somebody answers."""

    name: ClassVar = "run.blocked"
    blocked_reason: Literal["human_input_required"] = "human_input_required"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunUnblocked:
    """What the run waited for has come."""

    name: ClassVar = "run.unblocked"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCancelRequested:
    """Somebody asked for the run to end; it does as soon as what executes has been stopped."""

    name: ClassVar = "run.cancel.requested"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCompleted:
    """The run reached an exit and every goal gate had passed."""

    name: ClassVar = "run.completed"
    reason: SuccessReason = SuccessReason.COMPLETED


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFailed:
    """The run ended without success; `message` says why, for people."""

    name: ClassVar = "run.failed"
    reason: FailureReason
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunNotice:
    """Something that a person may want to know and that changes nothing."""

    name: ClassVar = "run.notice"
    level: NoticeLevel
    code: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StageStarted:
    """A node's execution began. `graph_visit` counts visits by the graph's own path (limits go by it); an
    execution that repeats one which a crash cut off keeps its visit and names it in `resumed_from_stage_id`.
    """

    name: ClassVar = "stage.started"
    stage_id: StageId
    handler_type: str
    graph_visit: int = 1
    attempt: int = 1
    max_attempts: int = 1
    resumed_from_stage_id: StageId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCompleted:
    """A stage ended in any way but failure."""

    name: ClassVar = "stage.completed"
    stage_id: StageId
    status: OutcomeStatus = OutcomeStatus.SUCCEEDED
    duration_ms: int = 0
    preferred_label: str | None = None
    suggested_next_ids: tuple[str, ...] = ()
    context_updates: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    notes: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StageFailed:
    """A stage, or with `will_retry` one attempt of it, failed."""

    name: ClassVar = "stage.failed"
    stage_id: StageId
    failure: Failure
    will_retry: bool = False
    duration_ms: int = 0
    preferred_label: str | None = None
    suggested_next_ids: tuple[str, ...] = ()
    context_updates: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, kw_only=True, slots=True)
class StagePrompt:
    """What was put to a model, in full."""

    name: ClassVar = "stage.prompt"
    stage_id: StageId
    text: str
    provider: str
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptCompleted:
    """What the model answered, in full."""

    name: ClassVar = "prompt.completed"
    stage_id: StageId
    response: str
    provider: str
    model: str
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandStarted:
    """A command is about to be spawned. `script` holds its first characters; the graph has the whole."""

    name: ClassVar = "command.started"
    stage_id: StageId
    script: str
    language: str
    timeout_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandCompleted:
    """A command ended. `output` is its standard output and error as they came: all of it, or where it was larger,
    its head and tail with a line between them that says how much is missing; then `output_blob` names the whole
    (itself cut at the blob cap). `output_bytes` is the true size.
    """

    name: ClassVar = "command.completed"
    stage_id: StageId
    termination: Termination
    exit_code: int | None = None
    duration_ms: int = 0
    output: str = ""
    output_bytes: int = 0
    output_blob: BlobId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InterviewStarted:
    """A question was put to people."""

    name: ClassVar = "interview.started"
    stage_id: StageId
    question_id: QuestionId
    question: str
    question_type: QuestionKind
    options: tuple[Option, ...] = ()
    allow_freeform: bool = False
    timeout_seconds: float | None = None
    context_display: str | None = None

    @property
    def asked(self) -> Question:
        """The question as one value."""
        return Question(
            id=self.question_id,
            stage=self.stage_id,
            text=self.question,
            kind=self.question_type,
            options=self.options,
            allow_freeform=self.allow_freeform,
            timeout_seconds=self.timeout_seconds,
            context_display=self.context_display,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class InterviewCompleted:
    """Somebody answered, and the answer fits."""

    name: ClassVar = "interview.completed"
    stage_id: StageId
    question_id: QuestionId
    answer: Answer
    actor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InterviewTimeout:
    """Nobody answered in time."""

    name: ClassVar = "interview.timeout"
    stage_id: StageId
    question_id: QuestionId


@dataclass(frozen=True, kw_only=True, slots=True)
class InterviewInterrupted:
    """The question was withdrawn."""

    name: ClassVar = "interview.interrupted"
    stage_id: StageId
    question_id: QuestionId
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeSelected:
    """The way on was chosen. A jump follows a retry target and no edge."""

    name: ClassVar = "edge.selected"
    from_node: NodeId
    to_node: NodeId
    reason: RouteReason
    label: str | None = None
    condition: str | None = None

    @property
    def is_jump(self) -> bool:
        """Whether no edge of the graph was followed."""
        return self.reason == "jump"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointCompleted:
    """Everything up to here is done and need never be done again."""

    name: ClassVar = "checkpoint.completed"
    current_node: NodeId
    next_node_id: NodeId
    git_commit_sha: str | None = None


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
