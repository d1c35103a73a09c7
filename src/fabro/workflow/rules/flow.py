"""Rules about the way through the graph: its ends, its edges, what can be reached. Above: rules. Below: report."""

from collections import deque
from collections.abc import Iterable, Iterator

from fabro.dot.span import Span
from fabro.ids import NodeId
from fabro.workflow.attributes import NodeType
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.exhaustive import are_exhaustive
from fabro.workflow.graph import Graph, Node
from fabro.workflow.rules.report import WARNING, at_edge, at_graph, at_node
from fabro.workflow.suggest import one_slip_away

TARGETS = ("retry_target", "fallback_retry_target")


def of_type(graph: Graph, *types: NodeType) -> list[Node]:
    """The nodes of some types."""
    return [node for node in graph.nodes.values() if node.type in types]


def start_node(graph: Graph) -> Iterator[Diagnostic]:
    """Exactly one start."""
    starts = of_type(graph, NodeType.START)
    if not starts:
        fix = "add `start [shape=Mdiamond]` and an edge from it to the first node"
        yield at_graph(graph, "start_node", "the graph has no start", fix)
    for node in starts[1:]:
        message = f"`{node.id}` is a second start, beside `{starts[0].id}`"
        yield at_node(graph, node, "start_node", message, f"delete `{node.id}`, or give it another type and name")


def terminal_node(graph: Graph) -> Iterator[Diagnostic]:
    """Exactly one exit."""
    exits = of_type(graph, NodeType.EXIT)
    if not exits:
        fix = "add `exit [shape=Msquare]` and an edge to it from the last node"
        yield at_graph(graph, "terminal_node", "the graph has no exit", fix)
    for node in exits[1:]:
        message = f"`{node.id}` is a second exit, beside `{exits[0].id}`"
        fix = f"lead the edges of `{node.id}` to `{exits[0].id}` and delete it"
        yield at_node(graph, node, "terminal_node", message, fix)


def edge_target_exists(graph: Graph) -> Iterator[Diagnostic]:
    """Both ends of every edge are declared; each missing node is told once."""
    told: set[NodeId] = set()
    for edge in graph.edges:
        ends: tuple[tuple[NodeId, Span], ...] = ((edge.source, edge.span), (edge.target, edge.target_span))
        for name, span in ends:
            if name not in graph.nodes and name not in told:
                told.add(name)
                meant = one_slip_away(name, graph.nodes)
                fix = f"did you mean `{meant}`? " if meant else ""
                fix += f'{"Otherwise declare" if meant else "declare"} the node: `{name} [label="…"]`'
                yield at_edge(graph, edge, "edge_target_exists", f"node `{name}` is not declared", fix, span=span)


def start_no_incoming(graph: Graph) -> Iterator[Diagnostic]:
    """Nothing leads back to the start."""
    for node in of_type(graph, NodeType.START):
        for edge in graph.incoming(node.id):
            fix = "lead the edge to the node after the start"
            yield at_edge(
                graph, edge, "start_no_incoming", "an edge leads to the start", fix, span=edge.target_span
            )


def exit_no_outgoing(graph: Graph) -> Iterator[Diagnostic]:
    """Nothing leads on from the exit."""
    for node in of_type(graph, NodeType.EXIT):
        for edge in graph.outgoing(node.id):
            yield at_edge(graph, edge, "exit_no_outgoing", "an edge leaves the exit", "delete the edge")


def reachability(graph: Graph) -> Iterator[Diagnostic]:
    """Every node can be reached from the start, by edges or as a retry target."""
    starts = of_type(graph, NodeType.START)
    if not starts:
        return
    reached: set[NodeId] = set()
    waiting = deque([starts[0].id, *_targets(graph, (graph.attributes.get(name) for name in TARGETS))])
    while waiting:
        node_id = waiting.popleft()
        if node_id in reached:
            continue
        reached.add(node_id)
        waiting.extend(edge.target for edge in graph.outgoing(node_id) if edge.target in graph.nodes)
        attributes = graph.nodes[node_id].attributes
        waiting.extend(_targets(graph, (attributes.get(name) for name in TARGETS)))
    for node in graph.nodes.values():
        if node.id not in reached:
            message = f"`{node.id}` can't be reached from the start"
            fix = f"add an edge that leads to `{node.id}`, or delete it"
            yield at_node(graph, node, "reachability", message, fix, severity=WARNING)


def _targets(graph: Graph, names: Iterable[object]) -> list[NodeId]:
    return [NodeId(name) for name in names if isinstance(name, str) and name in graph.nodes]


def all_conditional_edges(graph: Graph) -> Iterator[Diagnostic]:
    """Some edge can always be taken: one without a condition, or conditions that leave nothing out."""
    for node in graph.nodes.values():
        edges = graph.outgoing(node.id)
        conditions = [edge.condition for edge in edges if edge.condition is not None]
        if edges and len(conditions) == len(edges) and not are_exhaustive(conditions):
            message = f"every edge of `{node.id}` has a condition, and it may be that none of them holds"
            fix = f"add an edge without a condition: `{node.id} -> {edges[-1].target}`"
            yield at_node(graph, node, "all_conditional_edges", message, fix)
