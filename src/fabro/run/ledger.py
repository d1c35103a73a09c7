"""Which event may follow a log: the guard that every append passes. Above: stores, crash tests. Below: events.

A transition is checked before its event is written, so that a log can't become invalid (design §2).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fabro.errors import Conflict
from fabro.ids import NodeId, QuestionId, StageId, split_stage_id
from fabro.run import events as e
from fabro.run.status import Status, StatusKind, check_transition


class IllegalEvent(Conflict):
    """The event can't follow what the log holds."""

    default_code = "illegal_event"


_AFTER_THE_END = (e.RunNotice, e.UnknownEvent)


@dataclass(slots=True)
class Ledger:
    """As much of a run's log as is needed to judge the next event. `admit` is the only way to change it."""

    status: Status | None = None
    cancel_requested: bool = False
    open_stages: set[StageId] = field(default_factory=set[StageId])
    open_questions: set[QuestionId] = field(default_factory=set[QuestionId])
    ordinals: dict[NodeId, int] = field(default_factory=dict[NodeId, int])

    def admit(self, event: e.Event) -> None:
        """Take the event, or leave everything as it was.

        Raises:
            IllegalTransition: the event's status can't follow the run's.
            IllegalEvent: the run has ended, or the event speaks of a stage or question that is not open.
        """
        if self.status is None:
            _require(isinstance(event, e.RunCreated), "a log begins with run.created")
            self.status = Status(kind=StatusKind.SUBMITTED)
            return
        _require(not isinstance(event, e.RunCreated), "run.created stands only at the beginning")
        if self.status.kind.is_terminal and not isinstance(event, _AFTER_THE_END):
            raise IllegalEvent(f"{event.name} can't follow the run's end ({self.status})", code="run_terminal")
        after = status_after(event, self.status)
        if after is not None:
            self._change_status(after)
            return
        match event:
            case e.StageStarted():
                self._open_stage(event)
            case e.StageCompleted() | e.StageFailed():
                self._require_open(event.stage_id)
                if not (isinstance(event, e.StageFailed) and event.will_retry):
                    self.open_stages.discard(event.stage_id)
            case e.StagePrompt() | e.PromptCompleted() | e.CommandStarted() | e.CommandCompleted():
                self._require_open(event.stage_id)
            case e.InterviewStarted():
                self._require_open(event.stage_id)
                _require(event.question_id not in self.open_questions, f"{event.question_id} is already asked")
                self.open_questions.add(event.question_id)
            case e.InterviewCompleted() | e.InterviewTimeout() | e.InterviewInterrupted():
                if event.question_id not in self.open_questions:
                    raise IllegalEvent(f"question {event.question_id} is not open", code="question_closed")
                self.open_questions.discard(event.question_id)
            case e.RunCancelRequested():
                _require(not self.cancel_requested, "cancelling was already requested")
                self.cancel_requested = True
            case _:
                pass

    def _change_status(self, after: Status) -> None:
        before = self.status
        assert before is not None
        check_transition(before, after)
        if after.kind is StatusKind.SUBMITTED:
            _require(not self.open_stages, "a run with open stages can't be submitted again")
        if after.kind is StatusKind.SUCCEEDED:
            _require(not self.open_stages, f"stages are still open: {', '.join(sorted(self.open_stages))}")
            _require(not self.cancel_requested, "the run was asked to cancel")
        if after.kind.is_terminal:
            _require(not self.open_questions, "a question is still open")
        self.status = after

    def _require_open(self, stage: StageId) -> None:
        _require(stage in self.open_stages, f"stage {stage} is not open")

    def _open_stage(self, event: e.StageStarted) -> None:
        _require(
            self.status is not None and self.status.kind is StatusKind.RUNNING,
            "stages start in a running run",
        )
        if event.attempt > 1 and event.stage_id in self.open_stages:
            return
        try:
            node, ordinal = split_stage_id(event.stage_id)
        except ValueError as error:
            raise IllegalEvent(str(error)) from error
        expected = self.ordinals.get(node, 0) + 1
        _require(ordinal == expected, f"stage {event.stage_id} is out of order: {node}@{expected} is next")
        if event.resumed_from_stage_id is not None:
            cut_off = event.resumed_from_stage_id
            _require(cut_off in self.open_stages, f"stage {cut_off} was not cut off")
            self.open_stages.discard(cut_off)
        self.ordinals[node] = ordinal
        self.open_stages.add(event.stage_id)


def status_after(event: e.Event, before: Status) -> Status | None:
    """The status that the event brings, None where it leaves the status alone."""
    match event:
        case e.RunSubmitted():
            return None if before.kind is StatusKind.SUBMITTED else Status(kind=StatusKind.SUBMITTED)
        case e.RunRunnable():
            return Status(kind=StatusKind.RUNNABLE)
        case e.RunStarting():
            return Status(kind=StatusKind.STARTING)
        case e.RunRunning():
            return Status(kind=StatusKind.RUNNING)
        case e.RunBlocked(blocked_reason=reason):
            return Status(kind=StatusKind.BLOCKED, reason=reason)
        case e.RunUnblocked():
            return Status(kind=StatusKind.RUNNING)
        case e.RunCompleted(reason=reason):
            return Status(kind=StatusKind.SUCCEEDED, reason=reason)
        case e.RunFailed(reason=reason):
            return Status(kind=StatusKind.FAILED, reason=reason)
        case _:
            return None


def check_log(events: Iterable[e.StoredEvent]) -> Ledger:
    """Fold a whole log through the guard.

    Raises:
        IllegalEvent: the log has a gap or an event that may not stand where it stands.
        IllegalTransition: likewise for a change of status.
    """
    ledger = Ledger()
    for position, stored in enumerate(events, start=1):
        _require(stored.seq == position, f"event {position} is missing: {stored.seq} stands in its place")
        ledger.admit(stored.event)
    return ledger


def cancelled_early(status: Status) -> bool:
    """Whether a run of this status ends at once when it is cancelled, since nothing of it executes."""
    return status.kind in (StatusKind.SUBMITTED, StatusKind.PENDING, StatusKind.RUNNABLE)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise IllegalEvent(message)
