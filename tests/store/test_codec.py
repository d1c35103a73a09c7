"""Events as text and back: everything is kept, old logs stay readable for ever."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.errors import TooLarge
from fabro.ids import BlobId, NodeId, QuestionId, RunId, StageId, VersionId
from fabro.json_value import JsonObject, JsonValue
from fabro.run import events as e
from fabro.run.ledger import IllegalEvent
from fabro.run.outcome import Failure, FailureCategory, OutcomeStatus
from fabro.run.question import MultiSelected, No, Option, QuestionKind, Selected, Text, Yes
from fabro.run.spec import RunArgs, RunSpec, WorkflowName
from fabro.run.status import FailureReason, SuccessReason
from fabro.run.target import FolderTarget, NoTarget
from fabro.run.usage import Usage
from fabro.store.codec import UPCASTS, Undecodable, Upcast, decode, encode, encode_summary
from fabro.store.codec import decode_summary as read_summary
from fabro.store.head import begin
from fabro.testing.fake_clock import FakeClock
from tests.store.logs import FAILED, SPEC, TO_RUNNING, created, notice, run_ids

FIXTURES = Path(__file__).parent / "fixtures"
STAGE, NODE, ASKED = StageId("build@2"), NodeId("build"), QuestionId("gate@1")

LOG_1: Sequence[e.Event] = (
    e.RunCreated(
        spec=RunSpec(
            version_id=VersionId("ab" * 32),
            workflow=WorkflowName(graph="Ship", slug="ship"),
            target=NoTarget(),
            title="Ship",
        )
    ),
    e.RunCreated(
        parent_id=RunId("01KDVDNA00S19VBCV03SV4KW29"),
        spec=RunSpec(
            version_id=VersionId("ab" * 32),
            workflow=WorkflowName(graph="Ship", slug="ship", node_count=5, edge_count=6),
            target=FolderTarget(path="/srv/app"),
            title="Ship",
            goal="Ship the thing — today",
            args=RunArgs(
                inputs={"text": "x", "flag": True, "count": 3, "ratio": 0.5},
                labels={"team": "blue"},
                model="m",
                provider="p",
                dry_run=False,
                auto_approve=True,
                preserve_sandbox=False,
            ),
            client="fabro-cli 0.1.0",
        ),
    ),
    e.RunSubmitted(),
    e.RunStartRequested(),
    e.RunStartRequested(resume=True),
    e.RunRunnable(),
    e.RunRunnable(source="approved"),
    e.RunStarting(),
    e.RunStarted(working_directory="/srv/app"),
    e.RunRunning(),
    e.RunBlocked(),
    e.RunUnblocked(),
    e.RunCancelRequested(),
    e.RunCompleted(),
    e.RunCompleted(reason=SuccessReason.PARTIAL_SUCCESS),
    e.RunFailed(reason=FailureReason.CANCELLED, message="cancelled"),
    e.RunNotice(level="warn", code="dirty_worktree", message="left as it is\nand so on"),
    e.StageStarted(stage_id=STAGE, handler_type="agent"),
    e.StageStarted(
        stage_id=STAGE,
        handler_type="command",
        graph_visit=2,
        attempt=3,
        max_attempts=4,
        resumed_from_stage_id=StageId("build@1"),
    ),
    e.StageCompleted(stage_id=STAGE),
    e.StageCompleted(
        stage_id=STAGE,
        status=OutcomeStatus.PARTIALLY_SUCCEEDED,
        duration_ms=1204,
        preferred_label="ok",
        suggested_next_ids=("a", "b"),
        context_updates={"n": 1, "x": 1.0, "deep": [None, True, {"k": ["v"]}]},
        notes="nearly",
    ),
    e.StageFailed(stage_id=STAGE, failure=Failure(message="no")),
    e.StageFailed(
        stage_id=STAGE,
        failure=Failure(message="no", category=FailureCategory.TRANSIENT_INFRA, causes=("dns", "net")),
        will_retry=True,
        duration_ms=7,
        preferred_label="bad",
        suggested_next_ids=("a",),
        context_updates={"seen": "all"},
    ),
    e.StagePrompt(stage_id=STAGE, text="Do it", provider="p", model="m"),
    e.PromptCompleted(stage_id=STAGE, response="Done", provider="p", model="m", usage=Usage()),
    e.PromptCompleted(
        stage_id=STAGE,
        response="Done",
        provider="p",
        model="m",
        usage=Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, cost_micros=5),
    ),
    e.CommandStarted(stage_id=STAGE, script="make", language="shell", timeout_ms=60000),
    e.CommandCompleted(stage_id=STAGE, termination="not_started"),
    e.CommandCompleted(
        stage_id=STAGE,
        termination="exited",
        exit_code=2,
        duration_ms=9,
        output="nul \0 esc \x1b é 𝄞",
        output_bytes=123456789,
        output_blob=BlobId("cd" * 32),
    ),
    e.InterviewStarted(stage_id=STAGE, question_id=ASKED, question="Go?", question_type=QuestionKind.YES_NO),
    e.InterviewStarted(
        stage_id=STAGE,
        question_id=ASKED,
        question="Which?",
        question_type=QuestionKind.MULTI_SELECT,
        options=(Option(key="a", label="All"), Option(key="n", label="None")),
        allow_freeform=True,
        timeout_seconds=90.5,
        context_display="what there is",
    ),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=Yes()),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=No(), actor="ann"),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=Selected(option_key="a")),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=MultiSelected(option_keys=("a", "n"))),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=MultiSelected(option_keys=())),
    e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=Text(text="so so")),
    e.InterviewTimeout(stage_id=STAGE, question_id=ASKED),
    e.InterviewInterrupted(stage_id=STAGE, question_id=ASKED, reason="run cancelled"),
    e.EdgeSelected(from_node=NODE, to_node=NodeId("test"), reason="unconditional"),
    e.EdgeSelected(
        from_node=NODE, to_node=NodeId("test"), reason="condition", label="ok", condition="outcome=succeeded"
    ),
    e.CheckpointCompleted(current_node=NODE, next_node_id=NodeId("test")),
    e.CheckpointCompleted(current_node=NODE, next_node_id=NodeId("test"), git_commit_sha="ef" * 20),
    e.UnknownEvent(name="run.beamed.up", properties={"to": "ship", "crew": [1, 2.0, None], "ok": {"a": True}}),
)
"""What the fixture, written by the first version, must mean for ever. New events go into a fixture of their own."""

json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)
any_text = st.text(st.characters(exclude_categories=()))
"""Lone surrogates and NUL included."""


def fixture(pattern: str = "log-*.jsonl") -> list[tuple[str, str]]:
    lines = [
        line for path in sorted(FIXTURES.glob(pattern)) for line in path.read_text("utf-8").split("\n") if line
    ]
    rows = [json.loads(line) for line in lines]
    return [(row["event"], json.dumps(row["body"])) for row in rows]


def any_event(kind: type[e.Event]) -> st.SearchStrategy[e.Event]:
    """Every field filled by its type."""
    special: Mapping[str, st.SearchStrategy[object]] = {
        "context_updates": json_objects,
        "timeout_seconds": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "spec": st.builds(
            RunSpec,
            args=st.builds(
                RunArgs,
                inputs=st.dictionaries(st.text(), st.text() | st.booleans() | st.integers() | st.just(0.5)),
                labels=st.dictionaries(st.text(), st.text()),
                dry_run=st.none() | st.booleans(),
            ),
        ),
    }
    hints = get_type_hints(kind, localns={"JsonValue": object, "Sequence": Sequence})
    inferred = {field.name: st.from_type(hints[field.name]) for field in fields(kind) if field.name not in special}
    return st.builds(kind, **inferred, **{name: special[name] for name in hints if name in special})


def test_the_first_log_means_what_it_meant() -> None:
    assert [decode(name, body) for name, body in fixture("log-1.jsonl")] == list(LOG_1)


def test_every_event_stands_in_a_log_that_is_kept() -> None:
    assert {name for name, _ in fixture()} >= e.KNOWN_EVENTS.keys()


@pytest.mark.parametrize("event", LOG_1, ids=lambda event: event.name)
def test_what_is_written_is_read(event: e.Event) -> None:
    encoded = encode(event)
    assert encoded.name == event.name
    assert encoded.event == event
    assert decode(encoded.name, encoded.body) == event
    assert decode(encoded.name, encoded.body.encode()) == event


@given(st.sampled_from(sorted(e.KNOWN_EVENTS)).flatmap(lambda name: any_event(e.KNOWN_EVENTS[name])))
def test_any_event_is_read_as_it_was_written(event: e.Event) -> None:
    assert encode(event).event == event


@given(json_objects, st.text())
def test_unknown_events_are_kept_whole(properties: JsonObject, name: str) -> None:
    event = e.UnknownEvent(name=f"future.{name}", properties=properties)
    encoded = encode(event)
    assert encoded.event == event
    assert json.loads(encoded.body) == properties
    assert encode(encoded.event).body == encoded.body


@given(any_text, st.dictionaries(any_text, st.lists(any_text, max_size=2), max_size=3))
def test_no_text_breaks_the_codec(text: str, updates: JsonObject) -> None:
    event = e.StageFailed(stage_id=STAGE, failure=Failure(message=text, causes=(text,)), context_updates=updates)
    encoded = encode(event)
    assert encoded.body.encode()
    assert encode(encoded.event) == encoded
    if text.isascii():
        assert isinstance(encoded.event, e.StageFailed)
        assert encoded.event.failure == event.failure


def test_surrogates_are_joined_or_replaced() -> None:
    assert encode(notice("\ud83d\ude00 \ud83d. \udc00")).event == notice("😀 \ufffd. \ufffd")
    event = e.UnknownEvent(name="odd.\ud800", properties={"\udc00": {"a\ud800": "\ud83d\ude00"}})
    assert encode(event).event == e.UnknownEvent(name="odd.\ufffd", properties={"\ufffd": {"a\ufffd": "😀"}})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("text", ["plain", "odd \ud800"])
def test_numbers_that_json_does_not_have_become_null(number: float, text: str) -> None:
    encoded = encode(e.StageCompleted(stage_id=STAGE, notes=text, context_updates={"n": [number]}))
    assert isinstance(encoded.event, e.StageCompleted)
    assert encoded.event.context_updates == {"n": [None]}


def test_defaults_are_left_out_and_tags_are_not() -> None:
    assert encode(e.StageStarted(stage_id=STAGE, handler_type="agent")).body == (
        '{"stage_id":"build@2","handler_type":"agent"}'
    )
    assert encode(e.RunRunning()).body == "{}"
    answered = e.InterviewCompleted(stage_id=STAGE, question_id=ASKED, answer=No())
    assert json.loads(encode(answered).body)["answer"] == {"kind": "no"}


@pytest.mark.parametrize("name", e.KNOWN_EVENTS)
def test_properties_from_the_future_are_dropped(name: str) -> None:
    for known, body in fixture():
        if known == name:
            later = {**json.loads(body), "beam_colour": "blue", "nested": {"a": [1]}}
            assert decode(name, json.dumps(later)) == decode(name, body)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("run.running", "[]"),
        ("run.running", "nonsense"),
        ("run.running", b"\xff"),
        ("stage.started", "{}"),
        ("stage.started", '{"stage_id":1,"handler_type":"agent"}'),
        ("run.failed", '{"reason":"whim","message":""}'),
        ("run.future", "[]"),
        ("run.future", ""),
    ],
)
def test_what_cannot_be_read_says_why(name: str, body: str | bytes) -> None:
    with pytest.raises(Undecodable, match=name):
        decode(name, body)


def test_a_message_names_the_field_and_not_its_value() -> None:
    with pytest.raises(Undecodable) as caught:
        decode("run.notice", '{"level":"loud secret","code":"c","message":"m"}')
    assert "level" in caught.value.message
    assert "secret" not in caught.value.message


def test_old_shapes_are_brought_up_to_date() -> None:
    def rename(properties: JsonObject) -> tuple[str, JsonObject]:
        return "run.notice", {"level": "info", "code": "old", "message": properties.get("text", "")}

    upcasts: Mapping[str, Upcast] = {"run.remark": rename, "run.vanished": lambda old: ("run.gone", old)}
    assert decode("run.remark", '{"text":"hi"}', upcasts=upcasts) == e.RunNotice(
        level="info", code="old", message="hi"
    )
    assert decode("run.vanished", '{"a":1}', upcasts=upcasts) == e.UnknownEvent(
        name="run.gone", properties={"a": 1}
    )
    with pytest.raises(Undecodable):
        decode("run.remark", '{"text":5}', upcasts=upcasts)
    assert not UPCASTS


def test_what_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(TooLarge, match="16777216"):
        encode(notice("x" * 17_000_000))
    nested: JsonValue = "deep"
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(IllegalEvent):
        encode(e.UnknownEvent(name="run.deep", properties={"n": nested}))
    with pytest.raises(IllegalEvent, match="reason"):
        encode(e.UnknownEvent(name="run.failed", properties={"message": "poses as a known event"}))


def test_summaries_are_read_as_they_were_written() -> None:
    (run_id,) = run_ids(1)
    head, _ = begin(
        run_id, [created(), *TO_RUNNING, e.RunStarted(working_directory="/w"), FAILED], FakeClock().now()
    )
    busy = replace(
        head.summary, open_questions=(ASKED,), usage=Usage(input_tokens=1), target=FolderTarget(path="/x")
    )
    for summary in (head.summary, busy):
        assert read_summary(encode_summary(summary)) == summary
    assert head.summary.goal == SPEC.goal
    for text in ("", "{}", "[]", b"\xff"):
        with pytest.raises(Undecodable):
            read_summary(text)
