"""A run as the doors show it. Above: calls, REST, MCP, CLI. Below: the summary.

Source of the shape: reference/mcp-server.md §6 (Run); a status is `{kind, reason}` for every kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fabro.ids import QuestionId, RunId, VersionId
from fabro.projections.summary import RunSummary
from fabro.run.status import Status
from fabro.run.target import FolderTarget, Target
from fabro.run.usage import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowView:
    """Which workflow a run follows."""

    version_id: VersionId
    slug: str
    name: str
    graph_name: str
    node_count: int
    edge_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorView:
    """Why a run failed, for people."""

    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Lifecycle:
    """Where a run stands. `pending_control` is `cancel` from the request until the run has ended."""

    status: Status
    pending_control: str | None
    error: ErrorView | None
    archived: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Timestamps:
    """When things happened, in UTC."""

    created_at: datetime
    started_at: datetime | None
    last_event_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunView:
    """A run in a list or a header. `last_seq` is the number of its events."""

    id: RunId
    parent_id: RunId | None
    children_count: int
    title: str
    goal: str
    workflow: WorkflowView
    target: Target
    labels: Mapping[str, str]
    dry_run: bool
    client: str | None
    lifecycle: Lifecycle
    timestamps: Timestamps
    usage: Usage
    source_directory: str | None
    working_directory: str | None
    open_questions: tuple[QuestionId, ...]
    last_seq: int


def view(summary: RunSummary, *, last_seq: int, last_event_at: datetime) -> RunView:
    """The view of a summary."""
    ended = summary.status.kind.is_terminal
    return RunView(
        id=summary.id,
        parent_id=summary.parent_id,
        children_count=0,
        title=summary.title,
        goal=summary.goal,
        workflow=WorkflowView(
            version_id=summary.version_id,
            slug=summary.workflow.slug,
            name=summary.workflow.slug,
            graph_name=summary.workflow.graph,
            node_count=summary.workflow.node_count,
            edge_count=summary.workflow.edge_count,
        ),
        target=summary.target,
        labels=summary.labels,
        dry_run=summary.dry_run,
        client=summary.client,
        lifecycle=Lifecycle(
            status=summary.status,
            pending_control="cancel" if summary.cancel_requested and not ended else None,
            error=ErrorView(message=summary.error) if summary.error is not None else None,
            archived=summary.archived,
        ),
        timestamps=Timestamps(
            created_at=summary.created_at,
            started_at=summary.started_at,
            last_event_at=last_event_at,
            completed_at=summary.completed_at,
        ),
        usage=summary.usage,
        source_directory=summary.target.path if isinstance(summary.target, FolderTarget) else None,
        working_directory=summary.working_directory,
        open_questions=summary.open_questions,
        last_seq=last_seq,
    )
