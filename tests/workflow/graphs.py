"""Small graphs for the tests of this folder."""

from collections.abc import Mapping

from fabro.workflow.graph import Graph, Node, ValidGraph
from fabro.workflow.load import load


def whole(body: str, head: str = "") -> str:
    """A graph file: the body between a start and an exit that are declared."""
    return f"digraph G {{\n{head}\nstart [shape=Mdiamond]\nexit [shape=Msquare]\n{body}\n}}\n"


def line(node: str, head: str = "") -> str:
    """A graph file with one node `n`, from the start to the exit."""
    return whole(f"n [{node}]\nstart -> n -> exit", head)


def graph_of(text: str, files: Mapping[str, str] | None = None) -> Graph:
    """The graph, valid or not."""
    graph = load("w.fabro", {"w.fabro": text, **(files or {})}).graph
    assert graph is not None
    return graph


def valid_of(text: str, files: Mapping[str, str] | None = None) -> ValidGraph:
    """The valid graph."""
    loaded = load("w.fabro", {"w.fabro": text, **(files or {})})
    assert loaded.valid is not None, loaded.diagnostics
    return loaded.valid


def node_of(text: str, name: str) -> Node:
    """One node of the graph."""
    return next(node for node in graph_of(text).nodes.values() if node.id == name)


def rules_of(text: str, files: Mapping[str, str] | None = None) -> dict[str, str]:
    """The rules that a file breaks, and how bad each is."""
    found = load("w.fabro", {"w.fabro": text, **(files or {})}).diagnostics
    return {diagnostic.rule: diagnostic.severity.value for diagnostic in found}
