"""Where a run stands: the fold of its events that the engine decides by. Above: engine, operations. Below: events.

The same fold serves a live run, a restart, and a test; there is no other way to change a state than `apply`.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from fabro.ids import NodeId, RunId, StageId, split_stage_id
from fabro.run import events as e
from fabro.run.context import BlobRef, ContextValue
from fabro.run.ledger import status_after
from fabro.run.outcome import Outcome, OutcomeStatus
from fabro.run.question import Answer, Question
from fabro.run.spec import RunSpec
from fabro.run.status import Status, StatusKind

TRANSPARENT = "conditional"
"""The handler type whose stages leave the routing outcome as it was (design §4.1)."""
RESPONSE_PREVIEW = 200
"""Characters of a response that `last_response` keeps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question that a stage put, and what became of it: neither answered nor timed out means open."""

    question: Question
    at: datetime
    answer: Answer | None = None
    timed_out: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NotBegun:
    """No stage has started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arriving:
    """The next node is chosen and not entered."""

    node_id: NodeId


@dataclass(frozen=True, kw_only=True, slots=True)
class Inside:
    """A stage is open."""

    stage_id: StageId
    node_id: NodeId
    handler_type: str
    graph_visit: int
    started_at: datetime
    asked: Asked | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaving:
    """A stage has ended and the way on is not chosen."""

    node_id: NodeId


_SUBMITTED = Status(kind=StatusKind.SUBMITTED)
_NOTHING_YET = Outcome(status=OutcomeStatus.SUCCEEDED)
Position: TypeAlias = NotBegun | Arriving | Inside | Leaving


@dataclass(frozen=True, kw_only=True, slots=True)
class StageEnd:
    """How a node's latest stage ended. `output` is a command's output as its event shows it."""

    handler_type: str
    outcome: Outcome
    output: str | None = None


@dataclass(slots=True)
class RunState:
    """A run's state. Its owner alone calls `apply`; everybody else only reads.

    `outcome` is that of the last stage that was not a conditional. `ends` is ordered by when each node's latest
    stage ended. `visits` counts by the graph's path, `ordinals` counts executions.
    """

    run_id: RunId
    seq: int = 0
    spec: RunSpec | None = None
    status: Status = _SUBMITTED
    cancel_requested: bool = False
    working_directory: str | None = None
    position: Position = NotBegun()
    outcome: Outcome = _NOTHING_YET
    context: dict[str, ContextValue] = field(default_factory=dict[str, ContextValue])
    visits: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    ordinals: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    ends: dict[NodeId, StageEnd] = field(default_factory=dict[NodeId, StageEnd])
    _output: str | None = None

    def apply(self, stored: e.StoredEvent) -> None:
        """Take the next event of the log."""
        self.seq = stored.seq
        event = stored.event
        match event:
            case e.StageStarted():
                self._start(event, stored.at)
            case e.StageCompleted() | e.StageFailed():
                self._end(event)
            case e.EdgeSelected(to_node=node):
                self.position = Arriving(node_id=node)
            case e.CommandCompleted():
                self._keep_output(event)
            case e.PromptCompleted():
                self._keep_response(event)
            case e.InterviewStarted() | e.InterviewCompleted() | e.InterviewTimeout():
                self._interview(event, stored.at)
            case e.RunCreated(spec=spec):
                self.spec = spec
            case e.RunStarted(working_directory=folder):
                self.working_directory = folder
            case e.RunCancelRequested():
                self.cancel_requested = True
            case _:
                self.status = status_after(event, self.status) or self.status

    @property
    def open_question(self) -> Asked | None:
        """The question that waits for an answer."""
        if isinstance(self.position, Inside) and (asked := self.position.asked) is not None:
            return None if asked.answer is not None or asked.timed_out else asked
        return None

    def _start(self, event: e.StageStarted, at: datetime) -> None:
        node, ordinal = split_stage_id(event.stage_id)
        self.ordinals[node] = ordinal
        self.visits[node] = event.graph_visit
        self._output = None
        self.position = Inside(
            stage_id=event.stage_id,
            node_id=node,
            handler_type=event.handler_type,
            graph_visit=event.graph_visit,
            started_at=at,
        )

    def _end(self, event: e.StageCompleted | e.StageFailed) -> None:
        if isinstance(event, e.StageFailed) and event.will_retry:
            return
        inside = self.position
        if not isinstance(inside, Inside):
            return
        outcome = e.outcome_of(event)
        self.context.update(outcome.context_updates)
        if inside.handler_type != TRANSPARENT:
            self.outcome = outcome
        self.ends.pop(inside.node_id, None)
        self.ends[inside.node_id] = StageEnd(
            handler_type=inside.handler_type,
            outcome=outcome,
            output=self._output,
        )
        self.position = Leaving(node_id=inside.node_id)

    def _keep_output(self, event: e.CommandCompleted) -> None:
        self._output = event.output
        blob = event.output_blob
        self.context["command.output"] = (
            event.output if blob is None else BlobRef(blob=blob, size=event.output_bytes)
        )

    def _keep_response(self, event: e.PromptCompleted) -> None:
        node, _ = split_stage_id(event.stage_id)
        self.context["last_stage"] = node
        self.context["last_response"] = event.response[:RESPONSE_PREVIEW]
        self.context[f"response.{node}"] = event.response

    def _interview(
        self, event: e.InterviewStarted | e.InterviewCompleted | e.InterviewTimeout, at: datetime
    ) -> None:
        inside = self.position
        if not isinstance(inside, Inside):
            return
        match event:
            case e.InterviewStarted():
                asked = Asked(question=event.asked, at=at)
            case e.InterviewCompleted(answer=answer):
                asked = inside.asked and replace(inside.asked, answer=answer)
            case e.InterviewTimeout():
                asked = inside.asked and replace(inside.asked, timed_out=True)
        self.position = replace(inside, asked=asked)
