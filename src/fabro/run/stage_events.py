"""Events of one stage: begun, what happened in it, ended. Above: events. Below: the run's other facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from fabro.ids import BlobId, QuestionId, StageId
from fabro.json_value import JsonValue
from fabro.run.outcome import Failure, OutcomeStatus
from fabro.run.question import Answer, Option, Question, QuestionKind
from fabro.run.usage import Usage

Termination: TypeAlias = Literal["exited", "signaled", "timed_out", "cancelled", "not_started"]
"""How a command ended."""


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
    its head and tail with a line between them that says how much is missing. `output_blob` names the whole (itself
    cut at the blob cap) where `output` does not hold it as it came. `output_bytes` is the true size.
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
