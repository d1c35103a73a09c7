"""Logs that the tests of stores write. Above: the tests beside it. Below: events."""

from collections.abc import Sequence
from datetime import UTC, datetime

from fabro.ids import NodeId, RunId, StageId, VersionId, new_run_id
from fabro.run import events as e
from fabro.run.spec import RunArgs, RunSpec, WorkflowName
from fabro.run.status import FailureReason
from fabro.run.target import NoTarget

SPEC = RunSpec(
    version_id=VersionId("0" * 64),
    workflow=WorkflowName(graph="Ship", slug="ship", node_count=3, edge_count=2),
    target=NoTarget(),
    title="Ship it",
    goal="Ship the thing",
    args=RunArgs(labels={"team": "blue"}),
)
FAILED = e.RunFailed(reason=FailureReason.WORKFLOW_ERROR, message="no way on")
TO_RUNNING: Sequence[e.Event] = (e.RunRunnable(), e.RunStarting(), e.RunRunning())


def created(parent: RunId | None = None) -> e.RunCreated:
    """The first event of a log."""
    return e.RunCreated(spec=SPEC, parent_id=parent)


def visit(ordinal: int, node: str = "build") -> list[e.Event]:
    """The four events of one step: a stage, the way on, a checkpoint."""
    stage = StageId(f"{node}@{ordinal}")
    return [
        e.StageStarted(stage_id=stage, handler_type="agent"),
        e.StageCompleted(stage_id=stage, duration_ms=1204),
        e.EdgeSelected(from_node=NodeId(node), to_node=NodeId(node), reason="unconditional"),
        e.CheckpointCompleted(current_node=NodeId(node), next_node_id=NodeId(node)),
    ]


def notice(message: str = "said") -> e.RunNotice:
    """An event that may stand anywhere but first."""
    return e.RunNotice(level="info", code="note", message=message)


def run_ids(count: int) -> list[RunId]:
    """Ids in the order of creation, a second apart."""
    return [new_run_id(datetime(2026, 1, 1, second=n % 60, minute=n // 60, tzinfo=UTC)) for n in range(count)]
