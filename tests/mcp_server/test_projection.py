"""A run in full in bounded size."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from fabro.calls import RunStateView
from fabro.ids import NodeId, RunId, StageId, VersionId
from fabro.json_value import JsonObject
from fabro.mcp_server.json_text import size
from fabro.mcp_server.projection import project
from fabro.mcp_server.results import summary_result
from fabro.projections.detail import CheckpointView, CommandView, StageState, StageView
from fabro.projections.run_view import Lifecycle, RunView, Timestamps, WorkflowView
from fabro.run.outcome import Failure
from fabro.run.status import Status, StatusKind
from fabro.run.target import NoTarget
from fabro.run.usage import NO_USAGE

NOW = datetime(2026, 5, 1, tzinfo=UTC)
VISITS = 10_000
LIMIT = 200_000


def run_view(**changes: object) -> RunView:
    view = RunView(
        id=RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        parent_id=None,
        children_count=0,
        title="t",
        goal="g",
        workflow=WorkflowView(
            version_id=VersionId("a" * 64), slug="w", name="w", graph_name="W", node_count=1, edge_count=1
        ),
        target=NoTarget(),
        labels={},
        dry_run=False,
        client=None,
        lifecycle=Lifecycle(
            status=Status(kind=StatusKind.RUNNING), pending_control=None, error=None, archived=False
        ),
        timestamps=Timestamps(created_at=NOW, started_at=NOW, last_event_at=NOW, completed_at=None),
        usage=NO_USAGE,
        source_directory=None,
        working_directory="/w",
        open_questions=(),
        last_seq=1,
    )
    return replace(view, **changes)  # pyright: ignore[reportArgumentType] - fields of many types


def stage(number: int, state: StageState = StageState.SUCCEEDED, output: str = "done") -> StageView:
    failure = Failure(message="it broke") if state is StageState.FAILED else None
    command = CommandView(
        script="make", language="sh", timeout_ms=1000, exit_code=0, output=output, output_bytes=len(output)
    )
    return StageView(
        stage_id=StageId(f"work@{number}"),
        node_id=NodeId("work"),
        handler_type="command",
        state=state,
        graph_visit=number,
        first_event_seq=number * 6,
        started_at=NOW,
        ended_at=NOW,
        duration_ms=5,
        failure=failure,
        command=command,
    )


def state_of(*stages: StageView, run: RunView | None = None) -> RunStateView:
    checkpoints = tuple(
        CheckpointView(ordinal=n + 1, seq=n, current_node=one.node_id, next_node_id=one.node_id)
        for n, one in enumerate(stages)
    )
    return RunStateView(
        run=run or run_view(),
        inputs={},
        stages=stages,
        checkpoints=checkpoints,
        questions=(),
        notices=tuple(f"warn: {number}" for number in range(len(stages))),
    )


def whole(state: RunStateView) -> JsonObject:
    return {"summary": summary_result(state.run).model_dump(), "projection": project(state).model_dump()}


def test_a_short_run_is_shown_whole() -> None:
    found = project(state_of(stage(1), stage(2, StageState.FAILED)))
    assert list(found.stages) == ["work@1", "work@2"]
    assert found.stages_left_out is None
    first, second = found.stages.values()
    assert first["script_invocation"] == {"script": "make", "language": "sh", "timeout_ms": 1000}
    assert (first["output"], first["exit_code"], first["handler"]) == ("done", 0, "command")
    assert second["failure"] == {"message": "it broke", "category": "deterministic", "causes": []}


def test_ten_thousand_visits_stay_within_bounds_with_failed_and_newest_ones() -> None:
    failed = {3, 4_000}
    stages = [stage(n, StageState.FAILED if n in failed else StageState.SUCCEEDED) for n in range(1, VISITS + 1)]
    state = state_of(*stages)
    assert size(whole(state)) < LIMIT
    found = project(state)
    shown = list(found.stages)
    assert {"work@3", "work@4000", f"work@{VISITS}", f"work@{VISITS - 100}"} <= set(shown)
    assert [int(name.split("@")[1]) for name in shown] == sorted(int(name.split("@")[1]) for name in shown)
    left = found.stages_left_out
    assert left is not None
    assert left.count == VISITS - len(shown)
    assert left.by_state == {"succeeded": left.count}
    assert "fabro_run_events" in left.how_to_read
    assert (len(found.checkpoints), found.checkpoints_left_out) == (20, VISITS - 20)
    assert found.checkpoints[-1]["ordinal"] == VISITS
    assert (found.notices[-1], found.notices_left_out) == (f"warn: {VISITS - 1}", VISITS - 20)


def test_many_failures_leave_room_for_the_newest() -> None:
    stages = [stage(n, StageState.FAILED) for n in range(1, 5_000)] + [stage(5_000)]
    state = state_of(*stages)
    assert size(whole(state)) < LIMIT
    assert {"work@4999", "work@5000"} <= set(project(state).stages)


def test_long_texts_lose_their_middle_and_say_so() -> None:
    output = "HEAD" + "x" * 100_000 + "TAIL"
    (shown,) = project(state_of(stage(1, output=output))).stages.values()
    text = str(shown["output"])
    assert text.startswith("HEAD")
    assert text.endswith("TAIL")
    assert re.search(r"96008 of 100008 characters left out", text)
    assert len(text) < 4_100


def test_hostile_sizes_stay_within_bounds() -> None:
    nasty = "\x00" * 100_000
    run = run_view(
        goal=nasty,
        title=nasty[:100],
        labels={f"label{n}": nasty[:50] for n in range(1_000)},
        lifecycle=Lifecycle(
            status=Status(kind=StatusKind.FAILED), pending_control=None, error=None, archived=False
        ),
    )
    state = replace(state_of(*[stage(n, output=nasty) for n in range(1, 200)], run=run), inputs={"i": nasty})
    assert size(whole(state)) < LIMIT
