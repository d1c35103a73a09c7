"""A run's events as lines, and what is open meanwhile."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from fabro.cli.lines import summary, tell
from fabro.cli.progress import Progress
from fabro.ids import NodeId, QuestionId, RunId, StageId, VersionId
from fabro.projections.envelope import EventEnvelope, to_envelope
from fabro.run import events as e
from fabro.run.outcome import Failure, OutcomeStatus
from fabro.run.question import Option, QuestionKind, Selected
from fabro.run.spec import RunSpec, WorkflowName
from fabro.run.status import FailureReason, SuccessReason
from fabro.run.target import NoTarget

RUN = RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV")
BUILD, GATE, START = StageId("build@1"), StageId("gate@1"), StageId("start@1")
SPEC = RunSpec(
    version_id=VersionId("0" * 64), workflow=WorkflowName(graph="g", slug="hello"), target=NoTarget(), title="t"
)
ASKED = e.InterviewStarted(
    stage_id=GATE,
    question_id=QuestionId(GATE),
    question="Ship it?",
    question_type=QuestionKind.MULTIPLE_CHOICE,
    options=(Option(key="Y", label="Yes"),),
)
BEGINNING: tuple[e.Event, ...] = (
    e.RunCreated(spec=SPEC),
    e.RunSubmitted(),
    e.RunRunnable(),
    e.RunStarting(),
    e.RunStarted(working_directory="/tmp/x"),
    e.RunRunning(),
)


def envelopes(events: Sequence[e.Event]) -> list[EventEnvelope]:
    """The events a second apart."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        to_envelope(e.StoredEvent(run_id=RUN, seq=seq, at=began + timedelta(seconds=seq), event=event))
        for seq, event in enumerate(events, start=1)
    ]


def told(*events: e.Event, detail: bool = False) -> list[str]:
    """The lines of the beginning and these events."""
    progress, lines = Progress(), list[str]()
    for event in envelopes([*BEGINNING, *events]):
        line = tell(event, progress)
        progress.apply(event)
        if line is not None and (detail or not line.is_detail):
            lines.append(line.plain(ascii_only=True))
    return lines


def begun(stage: StageId, handler: str = "command", *, attempt: int = 1, max_attempts: int = 1) -> e.StageStarted:
    return e.StageStarted(stage_id=stage, handler_type=handler, attempt=attempt, max_attempts=max_attempts)


def test_a_run_that_succeeds() -> None:
    ran = e.CommandCompleted(stage_id=BUILD, termination="exited", exit_code=0, output="fine\n")
    assert told(
        begun(START, "start"),
        e.StageCompleted(stage_id=START),
        begun(BUILD),
        e.CommandStarted(stage_id=BUILD, script="make", language="shell", timeout_ms=1),
        ran,
        e.StageCompleted(stage_id=BUILD, duration_ms=1234, preferred_label="Next\x1b[2J"),
        e.RunCompleted(),
    ) == [
        "> build@1  command",
        "+ build@1  command  1.2s  exit 0  -> Next\\x1b[2J",
        "+ run succeeded in 8.0s",
    ]


def test_a_stage_that_fails_is_tried_again_and_fails() -> None:
    failure = Failure(message="the script ended with exit code 3: no\nsuch file")
    assert told(
        begun(BUILD, max_attempts=2),
        e.StageFailed(stage_id=BUILD, failure=failure, will_retry=True),
        begun(BUILD, attempt=2, max_attempts=2),
        e.StageFailed(stage_id=BUILD, failure=failure, duration_ms=61_000),
        e.RunFailed(reason=FailureReason.WORKFLOW_ERROR, message="stage build failed"),
    ) == [
        "> build@1  command",
        "@ build@1  command  0.0s  the script ended with exit code 3: no such file  trying again",
        "> build@1  command  attempt 2 of 2",
        "x build@1  command  1m01s  the script ended with exit code 3: no such file",
        "x run failed in 6.0s: stage build failed",
    ]


def test_a_question_and_its_answer() -> None:
    answered = e.InterviewCompleted(
        stage_id=GATE, question_id=QuestionId(GATE), answer=Selected(option_key="Y"), actor="ann"
    )
    assert told(begun(GATE, "human"), ASKED, e.RunBlocked(), answered, e.RunUnblocked()) == [
        "> gate@1  human",
        "? gate@1  asks: Ship it?",
        "? gate@1  answered by ann: Y",
    ]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (e.RunCompleted(reason=SuccessReason.PARTIAL_SUCCESS), "+ run succeeded, in part in 2.0s"),
        (
            e.RunFailed(reason=FailureReason.CANCELLED, message="cancelled"),
            "x run was cancelled in 2.0s: cancelled",
        ),
        (e.RunCancelRequested(), "! asked to cancel; stopping what executes"),
        (e.RunNotice(level="warn", code="c", message="odd"), "! warn: odd"),
        (
            e.EdgeSelected(from_node=NodeId("a"), to_node=NodeId("b"), reason="condition", condition="x=1"),
            "* a -> b  x=1",
        ),
    ],
)
def test_single_events(event: e.Event, line: str) -> None:
    assert told(event, detail=True)[-1] == line


@pytest.mark.parametrize(
    ("status", "sign"), [(OutcomeStatus.SKIPPED, "-"), (OutcomeStatus.PARTIALLY_SUCCEEDED, "~")]
)
def test_ends_between_success_and_failure(status: OutcomeStatus, sign: str) -> None:
    assert told(begun(BUILD), e.StageCompleted(stage_id=BUILD, status=status, notes="why"))[-1] == (
        f"{sign} build@1  command  0.0s  why"
    )


def test_what_is_open() -> None:
    progress = Progress()
    for event in envelopes([*BEGINNING, begun(BUILD), begun(GATE, "human"), ASKED, e.RunBlocked()]):
        progress.apply(event)
    assert list(progress.stages) == [BUILD, GATE]
    assert progress.stages[GATE].is_waiting
    assert progress.questions == {GATE: GATE}
    assert progress.is_blocked
    progress.apply(envelopes([e.RunFailed(reason=FailureReason.CANCELLED, message="")])[0])
    assert (progress.stages, progress.questions, progress.is_blocked) == ({}, {}, False)
    assert progress.ended == "cancelled"


def test_following_a_long_run_takes_no_more_memory() -> None:
    progress = Progress()
    for visit in range(1, 1000):
        stage = StageId(f"build@{visit}")
        for event in envelopes([begun(stage), e.StageCompleted(stage_id=stage)]):
            progress.apply(event)
    assert not progress.stages


def test_every_kind_of_event_has_a_summary_on_one_line() -> None:
    notice = e.RunNotice(level="info", code="x", message="two\nlines\x07 " + "long " * 50)
    line = summary(envelopes([notice])[0])
    assert line.startswith("    1  2026-01-01T00:00:01.000Z  run.notice")
    assert "message=two lines\\x07 long" in line
    assert "\n" not in line
