"""`@file` values: the file's text takes their place. Above: load, package. Below: graph, paths.

Rules: reference/engine.md §1.9. A path is relative to the graph's file and stays within the workflow's folder.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from fabro.dot.span import Source
from fabro.errors import InvalidInput
from fabro.ids import NodeId
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Graph, Node
from fabro.workflow.paths import resolve_reference
from fabro.workflow.rules.report import at_graph, at_node

GRAPH_REFERENCES = ("goal",)
NODE_REFERENCES = ("prompt", "output_schema")
CHILD_REFERENCE = "stack.child_workflow"

_Owner = TypeVar("_Owner", Graph, Node)


class Reference(NamedTuple):
    """A file that an attribute names. `path` is None where the reference can't be followed; `problem` says why."""

    owner: Graph | Node
    attribute: str
    written: str
    path: str | None
    problem: str | None


def references_of(graph: Graph) -> Iterator[Reference]:
    """Every `@file` of a graph, then every child workflow, in file order."""
    owners: list[tuple[Graph | Node, tuple[str, ...]]] = [(graph, GRAPH_REFERENCES)]
    owners += [(node, NODE_REFERENCES) for node in graph.nodes.values()]
    for owner, names in owners:
        for name in names:
            value = owner.attributes.get(name)
            if isinstance(value, str) and value.startswith("@"):
                yield _reference(graph, owner, name, value[1:])
    for node in graph.nodes.values():
        child = node.attributes.get(CHILD_REFERENCE)
        if isinstance(child, str) and "stack.child_dot_source" not in node.attributes:
            yield _reference(graph, node, CHILD_REFERENCE, child)


def _reference(graph: Graph, owner: Graph | Node, attribute: str, written: str) -> Reference:
    if "{{" in written or "{%" in written:
        return Reference(owner, attribute, written, None, "a file reference can't be a template")
    try:
        return Reference(owner, attribute, written, resolve_reference(graph.origin.name, written), None)
    except InvalidInput as error:
        return Reference(owner, attribute, written, None, error.message)


def inline(graph: Graph, files: Mapping[str, str]) -> tuple[Graph, tuple[Diagnostic, ...]]:
    """The graph with the texts of its files in place, and a finding for each file that is not there."""
    diagnostics: list[Diagnostic] = []
    nodes: dict[NodeId, Node] = dict(graph.nodes)
    whole = graph
    for reference in references_of(graph):
        if reference.attribute == CHILD_REFERENCE and reference.path is not None:
            continue
        if reference.path is None or reference.path not in files:
            diagnostics.append(unresolved(graph, reference))
            continue
        text = files[reference.path].replace("\r\n", "\n")
        source = Source(reference.path, text)
        if isinstance(reference.owner, Node):
            nodes[reference.owner.id] = _with_text(nodes[reference.owner.id], reference.attribute, source)
        else:
            whole = _with_text(whole, reference.attribute, source)
    return replace(whole, nodes=nodes), tuple(diagnostics)


def unresolved(graph: Graph, reference: Reference) -> Diagnostic:
    """The finding that a reference leads nowhere."""
    message = (
        reference.problem or f"`{reference.attribute}` names the file `{reference.path}`, which does not exist"
    )
    fix = f"add the file beside `{graph.origin.name}`, or correct the path"
    if reference.problem:
        fix = "name a file within the workflow's folder, such as `@prompts/review.md`"
    if isinstance(reference.owner, Node):
        return at_node(graph, reference.owner, "unresolved_file_ref", message, fix, attribute=reference.attribute)
    return at_graph(graph, "unresolved_file_ref", message, fix, attribute=reference.attribute)


def _with_text(owner: _Owner, attribute: str, source: Source) -> _Owner:
    return replace(
        owner,
        attributes={**owner.attributes, attribute: source.text},
        inlined={**owner.inlined, attribute: source},
    )
