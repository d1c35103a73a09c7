"""Admission: from what a caller wants to what a run is. Above: runs. Below: the run's spec. Pure but for the
look at a folder.

Source: reference/mcp-server.md §3: order and codes.
"""

import math
from pathlib import Path

from fabro.calls import RunIntent
from fabro.errors import InvalidInput, NotFound
from fabro.ids import VersionId
from fabro.run.spec import RunArgs, RunSpec, Scalar, WorkflowName
from fabro.run.target import FolderTarget, NoTarget, Target
from fabro.workflow.attributes import NodeType
from fabro.workflow.graph import Graph, ValidGraph

TITLE_LENGTH = 100
INTEGER_BOUND = 1 << 63
ENVIRONMENTS = frozenset({"default", "local"})


def check_environment(intent: RunIntent) -> None:
    """Only this machine's own environment exists.

    Raises:
        NotFound: `environment_not_found`.
    """
    if intent.environment_id is not None and intent.environment_id not in ENVIRONMENTS:
        raise NotFound(
            f"environment_id {intent.environment_id!r} not found",
            code="environment_not_found",
            hint="Leave environment_id out, or use `local`.",
        )


def check_inputs(args: RunArgs) -> None:
    """Inputs are text, booleans and numbers that TOML can hold.

    Raises:
        InvalidInput: `run_intent_invalid`, naming the input.
    """
    for name, value in args.inputs.items():
        if not _fits(value):
            raise InvalidInput(
                f"args.inputs.{name}: the number {value!r} is outside TOML's range", code="run_intent_invalid"
            )


def check_title(title: str | None) -> str | None:
    """A title as it is kept.

    Raises:
        InvalidInput: blank, longer than 100 characters, or more than one line.
    """
    if title is None:
        return None
    kept = title.strip()
    problem = None
    if not kept:
        problem = "must not be blank"
    elif len(kept) > TITLE_LENGTH:
        problem = f"has {len(kept)} characters; at most {TITLE_LENGTH} are allowed"
    elif any(ord(char) < 32 or ord(char) == 127 for char in kept):
        problem = "must be a single line without control characters"
    if problem:
        raise InvalidInput(f"title {problem}", code="run_intent_invalid")
    return kept


def materialise(target: Target) -> Target:
    """The target with a folder's path in its one true form.

    Raises:
        InvalidInput: `target_invalid`: the folder is not absolute, not there, or no folder.
    """
    match target:
        case NoTarget():
            return target
        case FolderTarget(path=given):
            return FolderTarget(path=_folder(given))


def unexecutable(valid: ValidGraph, executable: frozenset[NodeType]) -> str | None:
    """One sentence that names the nodes which nothing here can execute, None when there are none."""
    nodes = [node for node in valid.graph.nodes.values() if node.type not in executable | {NodeType.EXIT}]
    if not nodes:
        return None
    named = ", ".join(f"{node.id!r} ({node.type.value})" for node in sorted(nodes, key=lambda node: node.id))
    return f"this version can't execute {named}; a dry run simulates agents"


def spec_of(
    intent: RunIntent,
    *,
    version_id: VersionId,
    graph: Graph,
    slug: str,
    target: Target,
    title: str | None,
    client: str | None,
) -> RunSpec:
    """What the run is; `graph` is bound, and `title`, where there is one, is checked."""
    return RunSpec(
        version_id=version_id,
        workflow=WorkflowName(
            graph=graph.name, slug=slug, node_count=len(graph.nodes), edge_count=len(graph.edges)
        ),
        target=target,
        title=title or _inferred_title(graph.goal, slug),
        goal=graph.goal,
        args=intent.args,
        client=client,
    )


def _fits(value: Scalar) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -INTEGER_BOUND <= value < INTEGER_BOUND


def _folder(given: str) -> str:
    path = Path(given)
    problem = None
    if "\0" in given or not path.is_absolute():
        problem = "must be an absolute path on the server's machine"
    elif not path.is_dir():
        problem = "is not a folder on the server's machine"
    if problem:
        raise InvalidInput(f"target.path {given!r} {problem}", code="target_invalid")
    return str(path.resolve())


def _inferred_title(goal: str, slug: str) -> str:
    line = " ".join(goal.split()) or slug
    clean = "".join(char for char in line if char.isprintable())
    return clean if len(clean) <= TITLE_LENGTH else clean[: TITLE_LENGTH - 3] + "..."
