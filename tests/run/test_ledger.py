"""The guard before every append: each of its rules, and that whatever it lets through can be folded."""

import copy
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.ids import NodeId, QuestionId, RunId, StageId, VersionId
from fabro.projections import summary as summaries
from fabro.run import events as e
from fabro.run.ledger import IllegalEvent, Ledger, cancelled_early, check_log, status_after
from fabro.run.outcome import Failure
from fabro.run.question import QuestionKind, Yes
from fabro.run.spec import RunSpec, WorkflowName
from fabro.run.state import RunState
from fabro.run.status import FailureReason, IllegalTransition, Status, StatusKind
from fabro.run.target import NoTarget
from fabro.run.usage import Usage

RUN = RunId("01KDVDNA00S19VBCV03SV4KW29")
AT = datetime(2026, 1, 1, tzinfo=UTC)
A1, A2, A3, GATE = (StageId(name) for name in ("a@1", "a@2", "a@3", "gate@1"))
Q1, Q2 = QuestionId("gate@1"), QuestionId("gate@1-2")
CREATED = e.RunCreated(
    spec=RunSpec(
        version_id=VersionId("0" * 64),
        workflow=WorkflowName(graph="g", slug="g"),
        target=NoTarget(),
        title="t",
    )
)
RUNNING: Sequence[e.Event] = (CREATED, e.RunSubmitted(), e.RunRunnable(), e.RunStarting(), e.RunRunning())
NOTICE = e.RunNotice(level="info", code="note", message="")
FAILED = e.RunFailed(reason=FailureReason.WORKFLOW_ERROR, message="")
CANCELLED = e.RunFailed(reason=FailureReason.CANCELLED, message="")


def opened(stage: StageId, *, attempt: int = 1, resumed: StageId | None = None) -> e.StageStarted:
    return e.StageStarted(stage_id=stage, handler_type="agent", attempt=attempt, resumed_from_stage_id=resumed)


def done(stage: StageId) -> e.StageCompleted:
    return e.StageCompleted(stage_id=stage)


def broken(stage: StageId, *, will_retry: bool = False) -> e.StageFailed:
    return e.StageFailed(stage_id=stage, failure=Failure(message=""), will_retry=will_retry)


def asked(question: QuestionId = Q1) -> e.InterviewStarted:
    return e.InterviewStarted(stage_id=GATE, question_id=question, question="?", question_type=QuestionKind.YES_NO)


def answered(question: QuestionId = Q1) -> e.InterviewCompleted:
    return e.InterviewCompleted(stage_id=GATE, question_id=question, answer=Yes())


def ledger_of(*events: e.Event) -> Ledger:
    ledger = Ledger()
    for event in events:
        ledger.admit(event)
    return ledger


def refused(ledger: Ledger, event: e.Event) -> IllegalEvent | IllegalTransition:
    """The refusal; it has changed nothing."""
    before = copy.deepcopy(ledger)
    with pytest.raises((IllegalEvent, IllegalTransition)) as caught:
        ledger.admit(event)
    assert ledger == before
    return caught.value


def test_a_log_begins_with_run_created() -> None:
    assert "begins with run.created" in refused(Ledger(), e.RunSubmitted()).message
    assert "begins with run.created" in refused(Ledger(), NOTICE).message
    assert ledger_of(CREATED).status == Status(kind=StatusKind.SUBMITTED)


def test_run_created_stands_only_there() -> None:
    refused(ledger_of(CREATED), CREATED)
    refused(ledger_of(*RUNNING), CREATED)
    refused(ledger_of(*RUNNING, FAILED), CREATED)


@pytest.mark.parametrize("end", [e.RunCompleted(), FAILED, CANCELLED])
def test_nothing_but_notices_and_what_is_unknown_follows_the_end(end: e.Event) -> None:
    ledger = ledger_of(*RUNNING, end)
    for event in (e.RunRunning(), e.RunSubmitted(), opened(A1), e.RunCancelRequested(), FAILED, e.RunCompleted()):
        assert refused(ledger, event).code == "run_terminal"
    ledger.admit(NOTICE)
    ledger.admit(e.UnknownEvent(name="run.archived", properties={}))


def test_a_transition_that_the_table_does_not_have() -> None:
    for before, event in (
        ([CREATED], e.RunStarting()),
        ([CREATED], e.RunCompleted()),
        ([CREATED], FAILED),
        (RUNNING, e.RunRunning()),
        (RUNNING, e.RunRunnable()),
        ([*RUNNING, e.RunBlocked()], e.RunBlocked()),
        ([*RUNNING, e.RunBlocked()], e.RunCompleted()),
    ):
        assert isinstance(refused(ledger_of(*before), event), IllegalTransition)


def test_a_cancelled_run_fails_from_anywhere() -> None:
    for length in range(1, len(RUNNING) + 1):
        ledger_of(*RUNNING[:length], e.RunCancelRequested(), CANCELLED)


def test_submitting_a_submitted_run_changes_nothing() -> None:
    assert ledger_of(CREATED, e.RunSubmitted(), e.RunSubmitted()) == ledger_of(CREATED)
    assert ledger_of(*RUNNING, e.RunSubmitted(), e.RunRunnable()).status == Status(kind=StatusKind.RUNNABLE)


def test_stages_start_in_a_running_run() -> None:
    for before in (RUNNING[:1], RUNNING[:4], [*RUNNING, e.RunBlocked()]):
        assert "running run" in refused(ledger_of(*before), opened(A1)).message
    ledger_of(*RUNNING, e.RunBlocked(), e.RunUnblocked(), opened(A1))


def test_a_nodes_executions_are_counted_without_gap() -> None:
    ledger = ledger_of(*RUNNING)
    assert "a@1 is next" in refused(ledger, opened(A2)).message
    ledger.admit(opened(A1))
    assert "a@2 is next" in refused(ledger, opened(A1)).message
    ledger.admit(done(A1))
    refused(ledger, opened(A1))
    refused(ledger, opened(A3))
    ledger.admit(opened(A2))
    ledger.admit(opened(GATE))


def test_only_open_stages_end_and_only_once() -> None:
    ledger = ledger_of(*RUNNING)
    for end in (done(A1), broken(A1), broken(A1, will_retry=True)):
        assert "a@1 is not open" in refused(ledger, end).message
    ledger.admit(opened(A1))
    ledger.admit(done(A1))
    for end in (done(A1), broken(A1)):
        refused(ledger, end)


def test_a_stage_that_will_be_retried_stays_open() -> None:
    ledger = ledger_of(*RUNNING, opened(A1), broken(A1, will_retry=True), opened(A1, attempt=2))
    ledger.admit(broken(A1, will_retry=True))
    ledger.admit(opened(A1, attempt=3))
    ledger.admit(done(A1))
    refused(ledger, opened(A1, attempt=4))


def test_an_execution_takes_over_from_one_that_was_cut_off() -> None:
    ledger = ledger_of(*RUNNING, opened(A1))
    refused(ledger, opened(A2, resumed=GATE))
    ledger.admit(opened(A2, resumed=A1))
    refused(ledger, done(A1))
    refused(ledger, opened(A3, resumed=A1))
    ledger.admit(done(A2))
    ledger.admit(e.RunCompleted())


def test_questions_belong_to_open_stages() -> None:
    ledger = ledger_of(*RUNNING)
    assert "gate@1 is not open" in refused(ledger, asked()).message
    ledger.admit(opened(GATE))
    ledger.admit(asked())
    assert "already asked" in refused(ledger, asked()).message
    ledger.admit(asked(Q2))


@pytest.mark.parametrize(
    "close",
    [
        answered(),
        e.InterviewTimeout(stage_id=GATE, question_id=Q1),
        e.InterviewInterrupted(stage_id=GATE, question_id=Q1, reason="cancelled"),
    ],
    ids=lambda event: event.name,
)
def test_a_question_is_closed_once(close: e.Event) -> None:
    ledger = ledger_of(*RUNNING, opened(GATE))
    assert refused(ledger, close).code == "question_closed"
    ledger.admit(asked())
    ledger.admit(close)
    assert refused(ledger, close).code == "question_closed"
    assert refused(ledger, answered()).code == "question_closed"


def test_cancelling_is_requested_once() -> None:
    assert (
        "already requested" in refused(ledger_of(*RUNNING, e.RunCancelRequested()), e.RunCancelRequested()).message
    )


def test_a_run_succeeds_only_when_all_is_done() -> None:
    assert "a@1" in refused(ledger_of(*RUNNING, opened(A1)), e.RunCompleted()).message
    assert "cancel" in refused(ledger_of(*RUNNING, e.RunCancelRequested()), e.RunCompleted()).message
    ledger_of(*RUNNING, opened(A1), done(A1), e.RunCompleted())


def test_a_run_does_not_end_over_an_open_question() -> None:
    ledger = ledger_of(*RUNNING, opened(GATE), asked())
    assert "question" in refused(ledger, FAILED).message
    ledger.admit(e.InterviewInterrupted(stage_id=GATE, question_id=Q1, reason="cancelled"))
    ledger.admit(FAILED)


def test_check_log_finds_gaps() -> None:
    whole = [e.StoredEvent(run_id=RUN, seq=seq, at=AT, event=event) for seq, event in enumerate(RUNNING, 1)]
    assert check_log(whole) == ledger_of(*RUNNING)
    assert check_log([]) == Ledger()
    with pytest.raises(IllegalEvent, match="event 3 is missing"):
        check_log([*whole[:2], *whole[3:]])
    with pytest.raises(IllegalEvent, match="event 1 is missing"):
        check_log(whole[1:])


@pytest.mark.parametrize("kind", StatusKind)
def test_who_is_cancelled_at_once(kind: StatusKind) -> None:
    waiting = {StatusKind.SUBMITTED, StatusKind.PENDING, StatusKind.RUNNABLE}
    assert cancelled_early(Status(kind=kind)) is (kind in waiting)


EVENTS: Sequence[e.Event] = (
    *RUNNING,
    NOTICE,
    FAILED,
    CANCELLED,
    e.RunCompleted(),
    e.RunStartRequested(),
    e.RunStarted(working_directory="/w"),
    e.RunBlocked(),
    e.RunUnblocked(),
    e.RunCancelRequested(),
    opened(A1),
    opened(A1, attempt=2),
    opened(A2),
    opened(A2, resumed=A1),
    opened(GATE),
    done(A1),
    done(A2),
    done(GATE),
    broken(A1),
    broken(A1, will_retry=True),
    broken(GATE),
    asked(),
    answered(),
    e.InterviewTimeout(stage_id=GATE, question_id=Q1),
    e.PromptCompleted(stage_id=A1, response="r", provider="p", model="m", usage=Usage(input_tokens=1)),
    e.CommandCompleted(stage_id=A1, termination="exited", exit_code=0),
    e.EdgeSelected(from_node=NodeId("a"), to_node=NodeId("gate"), reason="unconditional"),
    e.CheckpointCompleted(current_node=NodeId("a"), next_node_id=NodeId("gate")),
    e.UnknownEvent(name="run.future", properties={}),
)
any_events = st.lists(st.integers(0, len(EVENTS) - 1).map(EVENTS.__getitem__), max_size=40)


@given(any_events, st.booleans())
def test_whatever_is_admitted_can_be_folded(events: Sequence[e.Event], begun: bool) -> None:
    ledger, log = Ledger(), list[e.StoredEvent]()
    for event in [*(RUNNING if begun else ()), *events]:
        before = copy.deepcopy(ledger)
        try:
            ledger.admit(event)
        except (IllegalEvent, IllegalTransition):
            assert ledger == before
        else:
            log.append(e.StoredEvent(run_id=RUN, seq=len(log) + 1, at=AT, event=event))
    assert check_log(log) == ledger
    if not log:
        return
    summary, state = summaries.begin(log[0]), RunState(run_id=RUN)
    state.apply(log[0])
    for stored in log[1:]:
        expected = status_after(stored.event, summary.status) or summary.status
        summary = summaries.apply(summary, stored)
        state.apply(stored)
        assert summary.status == state.status == expected
    assert summary.status == ledger.status
    assert set(summary.open_questions) == ledger.open_questions
    assert summary.cancel_requested == ledger.cancel_requested == state.cancel_requested
    assert (summary.completed_at is None) is not summary.status.kind.is_terminal
    assert state.ordinals == ledger.ordinals
