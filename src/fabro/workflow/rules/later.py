"""What the language knows and this version does not act on yet, said instead of ignored. Above: rules."""

from collections.abc import Iterator

from fabro.workflow.attributes import NodeType
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Attributed, Edge, Graph, Node
from fabro.workflow.rules.report import WARNING, at_edge, at_graph, at_node

_EXECUTED = frozenset(
    {NodeType.START, NodeType.COMMAND, NodeType.CONDITIONAL, NodeType.HUMAN, NodeType.WAIT, NodeType.PROMPT}
)
_OF_NODES = (
    *("max_retries", "retry_policy", "auto_status", "allow_partial", "fidelity", "thread_id"),
    *("speed", "output_schema", "output_retries", "review_target"),
)
_OF_GRAPHS = (
    *("model_stylesheet", "default_fidelity", "default_thread", "default_max_retries"),
    *("loop_restart_signature_limit", "stall_timeout"),
)
_OF_EDGES = ("loop_restart", "fidelity", "thread_id")
_FIX = "delete it, or keep it for a version that acts on it"


def not_effective_yet(graph: Graph) -> Iterator[Diagnostic]:
    """An attribute that is written is one that does something."""
    for name in _written(graph, _OF_GRAPHS):
        yield at_graph(graph, "not_effective_yet", _message(name), _FIX, severity=WARNING, attribute=name)
    for node in graph.nodes.values():
        yield from _of_node(graph, node)
    for edge in graph.edges:
        yield from _of_edge(graph, edge)


def _of_node(graph: Graph, node: Node) -> Iterator[Diagnostic]:
    for name in _written(node, _OF_NODES) if node.type in _EXECUTED else ():
        yield at_node(graph, node, "not_effective_yet", _message(name), _FIX, severity=WARNING, attribute=name)


def _of_edge(graph: Graph, edge: Edge) -> Iterator[Diagnostic]:
    for name in _written(edge, _OF_EDGES):
        yield at_edge(graph, edge, "not_effective_yet", _message(name), _FIX, severity=WARNING)


def _written(owner: Attributed, names: tuple[str, ...]) -> Iterator[str]:
    return (name for name in names if name in owner.attributes)


def _message(name: str) -> str:
    return f"`{name}` is understood, and this version does not act on it"
