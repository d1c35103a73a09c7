"""What tools say of a run. Above: the tools. Below: the calls' views. Source: reference/mcp-server.md §0."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field

from fabro.clock import to_text
from fabro.mcp_server.json_text import cut, within
from fabro.projections.run_view import RunView

LONGEST_GOAL = 10_000
"""Characters of a goal in the result about one run."""
LONGEST_ERROR = 4_000
LONGEST_GOAL_IN_LISTS = 2_000
"""Characters of a goal where several runs stand together."""


class RunSummaryResult(BaseModel):
    """A run in a few fields; each is always there, null where it does not apply."""

    run_id: str = Field(description="The run's id, a ULID.")
    parent_id: str | None = Field(description="The run that this one is a child of.")
    children_count: int = Field(description="How many runs are children of this one.")
    workflow_version_id: str = Field(description="The registered workflow version that the run follows.")
    workflow_name: str | None = Field(description="The workflow's name.")
    workflow_graph_name: str | None = Field(description="The name in the workflow's graph.")
    workflow_slug: str | None = Field(description="The workflow's short name, from its entrypoint's path.")
    status: str = Field(
        description="submitted, pending, runnable, starting, running, blocked, paused, removing, or one of the "
        "three ends: succeeded, failed, dead."
    )
    status_reason: str | None = Field(description="Why the run has this status, such as workflow_error.")
    error: str | None = Field(description="Why a failed run failed, for people.")
    archived: bool = Field(description="Whether the run was put away.")
    created_at: str = Field(description="RFC 3339, UTC.")
    started_at: str | None = Field(description="RFC 3339, UTC; null before the run began to execute.")
    completed_at: str | None = Field(description="RFC 3339, UTC; null before the run ended.")
    labels: dict[str, str] = Field(description="The labels given at creation.")
    source_directory: str | None = Field(
        description="The server's folder that the run works in, for folder targets."
    )
    repo_origin_url: str | None = Field(description="The repository that the run works in, for git targets.")
    goal: str = Field(description="What the run is to achieve; very long goals are cut.")
    goal_truncated: bool = Field(description="Whether `goal` was cut.")
    open_questions: list[str] = Field(description="Ids of the questions that wait for an answer.")


def summary_result(run: RunView, *, longest_goal: int = LONGEST_GOAL) -> RunSummaryResult:
    """The summary of a run."""
    return RunSummaryResult(
        run_id=run.id,
        parent_id=run.parent_id,
        children_count=run.children_count,
        workflow_version_id=run.workflow.version_id,
        workflow_name=run.workflow.name,
        workflow_graph_name=run.workflow.graph_name,
        workflow_slug=run.workflow.slug,
        status=run.lifecycle.status.kind,
        status_reason=run.lifecycle.status.reason,
        error=cut(run.lifecycle.error.message, LONGEST_ERROR) if run.lifecycle.error else None,
        archived=run.lifecycle.archived,
        created_at=to_text(run.timestamps.created_at),
        started_at=_time(run.timestamps.started_at),
        completed_at=_time(run.timestamps.completed_at),
        labels={name: str(value) for name, value in within(run.labels).items()},
        source_directory=run.source_directory,
        repo_origin_url=None,
        goal=run.goal[:longest_goal],
        goal_truncated=len(run.goal) > longest_goal,
        open_questions=list(run.open_questions),
    )


def counted_statuses(runs: Sequence[RunView]) -> str:
    """How many runs have which status, `2 succeeded, 1 running`."""
    counts = Counter(str(run.lifecycle.status.kind) for run in runs)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def _time(moment: datetime | None) -> str | None:
    return to_text(moment) if moment else None
