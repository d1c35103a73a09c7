"""Where a run stands, from its events: what is open now. Above: lines, the live view, following. Below: envelopes.

Pure. It holds only what is open, so that following a run of any length takes the same memory.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from fabro.ids import StageId
from fabro.projections.envelope import EventEnvelope

Ended: TypeAlias = Literal["succeeded", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenStage:
    """A stage that has begun and not ended. `exit_code` is there once its command has ended by itself, `model` once
    one was asked.
    """

    stage: StageId
    handler: str
    began: datetime
    exit_code: int | None = None
    model: str = ""
    is_waiting: bool = False


@dataclass(slots=True)
class Progress:
    """The fold. `seq` is the last event taken; `questions` are those that wait for an answer, in order."""

    seq: int = 0
    stages: dict[StageId, OpenStage] = field(default_factory=dict[StageId, OpenStage])
    questions: dict[str, StageId | None] = field(default_factory=dict[str, StageId | None])
    is_blocked: bool = False
    ended: Ended | None = None
    began: datetime | None = None

    def apply(self, event: EventEnvelope) -> None:
        """Take the next event."""
        self.seq = event.seq
        match event.event:
            case "run.started":
                self.began = moment(event)
            case "run.blocked" | "run.unblocked":
                self.is_blocked = event.event == "run.blocked"
            case "run.completed":
                self._end("succeeded")
            case "run.failed":
                self._end("cancelled" if event.properties.get("reason") == "cancelled" else "failed")
            case "interview.started":
                self._ask(event)
            case "interview.completed" | "interview.timeout" | "interview.interrupted":
                self.questions.pop(text_of(event, "question_id"), None)
                self._wait(event.stage_id, is_waiting=False)
            case _:
                self._stage(event)

    def _stage(self, event: EventEnvelope) -> None:
        stage = event.stage_id
        if stage is None:
            return
        match event.event:
            case "stage.started":
                self.stages.pop(StageId(text_of(event, "resumed_from_stage_id")), None)
                self.stages[stage] = OpenStage(
                    stage=stage, handler=text_of(event, "handler_type"), began=moment(event)
                )
            case "stage.completed" | "stage.failed":
                self.stages.pop(stage, None)
            case "stage.prompt" if stage in self.stages:
                model = f"{text_of(event, 'provider')}:{text_of(event, 'model')}"
                self.stages[stage] = replace(self.stages[stage], model=model)
            case "command.completed" if stage in self.stages:
                code = event.properties.get("exit_code")
                self.stages[stage] = replace(self.stages[stage], exit_code=code if isinstance(code, int) else None)
            case _:
                pass

    def _ask(self, event: EventEnvelope) -> None:
        self.questions[text_of(event, "question_id")] = event.stage_id
        self._wait(event.stage_id, is_waiting=True)

    def _wait(self, stage: StageId | None, *, is_waiting: bool) -> None:
        if stage is not None and stage in self.stages:
            self.stages[stage] = replace(self.stages[stage], is_waiting=is_waiting)

    def _end(self, ended: Ended) -> None:
        self.ended = ended
        self.is_blocked = False
        self.stages.clear()
        self.questions.clear()


def moment(event: EventEnvelope) -> datetime:
    """When the event happened."""
    return datetime.fromisoformat(event.ts)


def text_of(event: EventEnvelope, name: str) -> str:
    """A property that is a string; empty where it is none."""
    value = event.properties.get(name)
    return value if isinstance(value, str) else ""
