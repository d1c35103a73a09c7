"""Events as programs see them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from fabro.ids import BlobId, NodeId, QuestionId, RunId, StageId
from fabro.json_value import JsonValue
from fabro.projections.envelope import to_envelope, to_json_object
from fabro.run import events as e
from fabro.run.outcome import Failure, OutcomeStatus
from fabro.run.question import Option, QuestionKind, Selected, Yes
from fabro.run.usage import Usage
from tests.store.logs import SPEC

RUN = RunId("01KDVDNA00S19VBCV03SV4KW29")
STAGE = StageId("build@2")


def stored(event: e.Event) -> e.StoredEvent:
    at = datetime(2026, 1, 2, 3, 4, 5, 67_000, tzinfo=UTC)
    return e.StoredEvent(run_id=RUN, seq=7, at=at, event=event)


def properties(event: e.Event) -> Mapping[str, JsonValue]:
    return to_envelope(stored(event)).properties


def test_the_envelope_of_a_stage() -> None:
    envelope = to_envelope(stored(e.StageStarted(stage_id=STAGE, handler_type="agent")))
    assert to_json_object(envelope) == {
        "seq": 7,
        "id": f"{RUN}-7",
        "ts": "2026-01-02T03:04:05.067Z",
        "run_id": RUN,
        "event": "stage.started",
        "node_id": "build",
        "stage_id": "build@2",
        "properties": {"handler_type": "agent", "graph_visit": 1, "attempt": 1, "max_attempts": 1},
    }


def test_an_event_of_the_run_has_no_stage() -> None:
    sent = to_json_object(to_envelope(stored(e.RunRunning())))
    assert sent.keys() == {"seq", "id", "ts", "run_id", "event", "properties"}
    assert sent["properties"] == {}


def test_times_of_other_zones_are_sent_in_utc() -> None:
    at = datetime.fromisoformat("2026-01-01T01:00:00+02:00") + timedelta(microseconds=999)
    envelope = to_envelope(e.StoredEvent(run_id=RUN, seq=1, at=at, event=e.RunRunning()))
    assert envelope.ts == "2025-12-31T23:00:00.000Z"


def test_facts_inside_an_event_are_plain_json() -> None:
    failed = e.StageFailed(
        stage_id=STAGE, failure=Failure(message="no", causes=("a", "b")), context_updates={"x": (1, {"y": None})}
    )
    assert properties(failed) == {
        "failure": {"message": "no", "category": "deterministic", "causes": ["a", "b"]},
        "will_retry": False,
        "duration_ms": 0,
        "suggested_next_ids": [],
        "context_updates": {"x": [1, {"y": None}]},
    }
    asked = e.InterviewStarted(
        stage_id=STAGE,
        question_id=QuestionId("q"),
        question="?",
        question_type=QuestionKind.MULTIPLE_CHOICE,
        options=(Option(key="y", label="Yes"),),
    )
    assert properties(asked)["options"] == [{"key": "y", "label": "Yes"}]
    assert type(properties(asked)["question_type"]) is str
    assert type(properties(e.StageCompleted(stage_id=STAGE, status=OutcomeStatus.SKIPPED))["status"]) is str


@pytest.mark.parametrize(
    ("answer", "sent"),
    [(Yes(), {"kind": "yes"}), (Selected(option_key="a"), {"option_key": "a", "kind": "selected"})],
)
def test_answers_carry_their_kind(answer: Yes | Selected, sent: JsonValue) -> None:
    event = e.InterviewCompleted(stage_id=STAGE, question_id=QuestionId("q"), answer=answer, actor="ann")
    assert properties(event) == {"question_id": "q", "answer": sent, "actor": "ann"}


def test_every_property_that_is_said_is_sent() -> None:
    event = e.CommandCompleted(
        stage_id=STAGE, termination="exited", exit_code=0, output="", output_blob=BlobId("ab" * 32)
    )
    assert properties(event) == {
        "termination": "exited",
        "exit_code": 0,
        "duration_ms": 0,
        "output": "",
        "output_bytes": 0,
        "output_blob": "ab" * 32,
    }
    used = e.PromptCompleted(stage_id=STAGE, response="", provider="p", model="m", usage=Usage(cost_micros=0))
    assert properties(used)["usage"] == {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "cost_micros": 0,
    }


def test_a_created_run_can_be_sent_as_json() -> None:
    sent = json.loads(json.dumps(to_json_object(to_envelope(stored(e.RunCreated(spec=SPEC, parent_id=RUN))))))
    assert sent["properties"]["parent_id"] == RUN
    assert sent["properties"]["spec"]["target"] == {"kind": "none"}
    assert sent["properties"]["spec"]["args"] == {"inputs": {}, "labels": {"team": "blue"}}


def test_unknown_events_are_sent_as_they_are() -> None:
    event = e.UnknownEvent(name="stage.beamed", properties={"stage_id": "up@3", "to": None, "crew": [1]})
    envelope = to_envelope(stored(event))
    assert (envelope.event, envelope.node_id, envelope.stage_id) == ("stage.beamed", NodeId("up"), StageId("up@3"))
    assert envelope.properties == {"to": None, "crew": [1]}
    assert event.properties["stage_id"] == "up@3"


@pytest.mark.parametrize("value", ["up", "@1", "up@0", "", 3, None, ["up@1"]])
def test_what_is_no_stage_id_stays_where_it_is(value: JsonValue) -> None:
    envelope = to_envelope(stored(e.UnknownEvent(name="odd", properties={"stage_id": value})))
    assert (envelope.node_id, envelope.stage_id) == (None, None)
    assert envelope.properties == {"stage_id": value}
