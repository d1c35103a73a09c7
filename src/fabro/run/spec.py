"""What was asked for when a run was created. Above: events, operations. Below: targets.

Source: seed 000 "Create runs"; reference/mcp-server.md §3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fabro.ids import VersionId
from fabro.run.target import Target

Scalar: TypeAlias = "str | bool | int | float"
"""The types of an input's value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunArgs:
    """Overrides of one run. None means "not said"; an explicit false is kept."""

    inputs: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    model: str | None = None
    provider: str | None = None
    dry_run: bool | None = None
    auto_approve: bool | None = None
    preserve_sandbox: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowName:
    """How a run's workflow is called: the graph's own name, and the entrypoint's path without its ending."""

    graph: str
    slug: str
    node_count: int = 0
    edge_count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSpec:
    """Everything that fixes what a run does: equal specs on equal ground do the same.

    `goal` is the goal in its final words, the caller's own or else the workflow's; it is data and never a template.
    """

    version_id: VersionId
    workflow: WorkflowName
    target: Target
    title: str
    goal: str = ""
    args: RunArgs = field(default_factory=RunArgs)
    client: str | None = None
    """Who created the run, as the client calls itself, for instance `fabro-cli 0.1.0`."""
