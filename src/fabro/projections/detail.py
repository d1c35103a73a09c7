"""A run in full: every stage with what went in and came out. Above: calls, REST, MCP, CLI. Below: events.

Source: reference/mcp-server.md §6 (RunProjection, StageProjection).
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from fabro.ids import BlobId, NodeId, StageId, split_stage_id
from fabro.run import events as e
from fabro.run.outcome import Failure, OutcomeStatus
from fabro.run.question import Answer, Question
from fabro.run.stage_events import Termination
from fabro.run.usage import Usage


class StageState(StrEnum):
    """A stage's state; `cancelled` also stands for one that a crash or a cancel cut off."""

    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandView:
    """A command stage's command. `output_blob` names the whole output where `output` shows head and tail."""

    script: str
    language: str
    timeout_ms: int
    termination: Termination | None = None
    exit_code: int | None = None
    output: str = ""
    output_bytes: int = 0
    output_blob: BlobId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptView:
    """A prompt stage's prompt and response."""

    text: str
    provider: str
    model: str
    response: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InterviewView:
    """A human stage's question and what became of it."""

    question: Question
    asked_at: datetime
    answer: Answer | None = None
    actor: str | None = None
    ended: str | None = None
    """`answered`, `timeout` or `interrupted`; None while the question is open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageView:
    """One execution of a node."""

    stage_id: StageId
    node_id: NodeId
    handler_type: str
    state: StageState
    graph_visit: int
    first_event_seq: int
    started_at: datetime
    ended_at: datetime | None = None
    duration_ms: int | None = None
    resumed_from_stage_id: StageId | None = None
    preferred_label: str | None = None
    notes: str | None = None
    failure: Failure | None = None
    command: CommandView | None = None
    prompt: PromptView | None = None
    interview: InterviewView | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointView:
    """A place from which the run can go on: `ordinal` counts from 1."""

    ordinal: int
    seq: int
    current_node: NodeId
    next_node_id: NodeId


@dataclass(slots=True)
class RunDetail:
    """Stages in the order in which they started, checkpoints, and notices; a fold of the run's events."""

    stages: dict[StageId, StageView] = field(default_factory=dict[StageId, StageView])
    checkpoints: list[CheckpointView] = field(default_factory=list[CheckpointView])
    notices: list[str] = field(default_factory=list[str])

    @property
    def open_questions(self) -> tuple[InterviewView, ...]:
        """Interviews that wait for an answer."""
        interviews = (stage.interview for stage in self.stages.values())
        return tuple(one for one in interviews if one is not None and one.ended is None)

    def apply(self, stored: e.StoredEvent) -> None:
        """Take the next event of the log."""
        event = stored.event
        match event:
            case e.StageStarted():
                self._start(event, stored)
            case e.StageCompleted() | e.StageFailed():
                self._end(event, stored.at)
            case e.CommandStarted() | e.CommandCompleted():
                self._command(event)
            case e.StagePrompt() | e.PromptCompleted():
                self._prompt(event)
            case e.InterviewStarted():
                asked = InterviewView(question=event.asked, asked_at=stored.at)
                self._change(event.stage_id, interview=asked, state=StageState.WAITING)
            case e.InterviewCompleted() | e.InterviewTimeout() | e.InterviewInterrupted():
                self._interview_over(event)
            case e.CheckpointCompleted():
                checkpoint = CheckpointView(
                    ordinal=len(self.checkpoints) + 1,
                    seq=stored.seq,
                    current_node=event.current_node,
                    next_node_id=event.next_node_id,
                )
                self.checkpoints.append(checkpoint)
            case e.RunNotice(level=level, message=message):
                self.notices.append(f"{level}: {message}")
            case _:
                pass

    def _start(self, event: e.StageStarted, stored: e.StoredEvent) -> None:
        cut_off = event.resumed_from_stage_id
        if cut_off is not None:
            self._change(cut_off, state=StageState.CANCELLED, ended_at=stored.at, notes="cut off by a restart")
        node, _ = split_stage_id(event.stage_id)
        self.stages[event.stage_id] = StageView(
            stage_id=event.stage_id,
            node_id=node,
            handler_type=event.handler_type,
            state=StageState.RUNNING,
            graph_visit=event.graph_visit,
            first_event_seq=stored.seq,
            started_at=stored.at,
            resumed_from_stage_id=cut_off,
        )

    def _end(self, event: e.StageCompleted | e.StageFailed, at: datetime) -> None:
        if isinstance(event, e.StageFailed):
            state = StageState.RETRYING if event.will_retry else StageState.FAILED
            if event.failure.category == "canceled":
                state = StageState.CANCELLED
            self._change(
                event.stage_id, state=state, ended_at=at, duration_ms=event.duration_ms, failure=event.failure
            )
            return
        self._change(
            event.stage_id,
            state=_STATES[event.status],
            ended_at=at,
            duration_ms=event.duration_ms,
            preferred_label=event.preferred_label,
            notes=event.notes,
        )

    def _command(self, event: e.CommandStarted | e.CommandCompleted) -> None:
        if isinstance(event, e.CommandStarted):
            begun = CommandView(script=event.script, language=event.language, timeout_ms=event.timeout_ms)
            self._change(event.stage_id, command=begun)
            return
        stage = self.stages.get(event.stage_id)
        if stage is not None and stage.command is not None:
            ended = replace(
                stage.command,
                termination=event.termination,
                exit_code=event.exit_code,
                output=event.output,
                output_bytes=event.output_bytes,
                output_blob=event.output_blob,
            )
            self._change(event.stage_id, command=ended)

    def _prompt(self, event: e.StagePrompt | e.PromptCompleted) -> None:
        if isinstance(event, e.StagePrompt):
            put = PromptView(text=event.text, provider=event.provider, model=event.model)
            self._change(event.stage_id, prompt=put)
            return
        stage = self.stages.get(event.stage_id)
        if stage is not None and stage.prompt is not None:
            answered = replace(stage.prompt, response=event.response, usage=event.usage)
            self._change(event.stage_id, prompt=answered)

    def _interview_over(self, event: e.InterviewCompleted | e.InterviewTimeout | e.InterviewInterrupted) -> None:
        stage = self.stages.get(event.stage_id)
        if stage is None or stage.interview is None:
            return
        match event:
            case e.InterviewCompleted(answer=answer, actor=actor):
                over = replace(stage.interview, answer=answer, actor=actor, ended="answered")
            case e.InterviewTimeout():
                over = replace(stage.interview, ended="timeout")
            case e.InterviewInterrupted():
                over = replace(stage.interview, ended="interrupted")
        self._change(event.stage_id, interview=over, state=StageState.RUNNING)

    def _change(self, stage: StageId, **changes: object) -> None:
        known = self.stages.get(stage)
        if known is not None:
            self.stages[stage] = replace(known, **changes)  # pyright: ignore[reportArgumentType]


_STATES = {
    OutcomeStatus.SUCCEEDED: StageState.SUCCEEDED,
    OutcomeStatus.PARTIALLY_SUCCEEDED: StageState.PARTIALLY_SUCCEEDED,
    OutcomeStatus.SKIPPED: StageState.SKIPPED,
    OutcomeStatus.FAILED: StageState.FAILED,
}
