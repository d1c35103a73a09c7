"""Which way on: pure, total and deterministic. Above: decide. Below: the graph, a run's state.

Source: reference/engine.md §4; design §4.1, §4.7. A failed or partial stage leaves by a matching conditional
edge, then by what it named itself, then by its retry target, then by an unconditional edge. A person's answer is
followed to the edge that it chose and to no other.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fabro.ids import NodeId
from fabro.json_value import JsonValue
from fabro.run.outcome import Outcome, OutcomeStatus
from fabro.run.run_events import RouteReason
from fabro.workflow.attributes import NodeType
from fabro.workflow.graph import Edge, Graph, Node
from fabro.workflow.labels import normal_label

Lookup = Callable[[str], JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The way on. `edge` is None for a jump to a retry target."""

    to_node: NodeId
    reason: RouteReason
    edge: Edge | None = None


def route(graph: Graph, node: Node, outcome: Outcome, lookup: Lookup, *, seed: str) -> Choice | None:
    """The way on from a node, None when there is none.

    Args:
        graph: where the node's edges and retry targets are.
        node: the node whose stage has ended.
        outcome: how it ended; for a conditional node, how the stage before it ended.
        lookup: the values that conditions ask for.
        seed: what `selection=random` draws from: equal seeds choose alike.
    """
    edges = graph.outgoing(node.id)
    if node.type is NodeType.HUMAN and outcome.status is not OutcomeStatus.FAILED:
        return _answered(edges, outcome)
    matching = [edge for edge in edges if edge.condition is not None and edge.condition.holds(lookup)]
    if matching:
        return _choice(pick(matching, node, seed=seed), "condition")
    plain = [edge for edge in edges if edge.condition is None]
    named = _named(plain, outcome)
    if named is not None:
        return named
    if outcome.status in (OutcomeStatus.FAILED, OutcomeStatus.PARTIALLY_SUCCEEDED):
        target = retry_target(graph, [node.text("retry_target"), node.text("fallback_retry_target")])
        if target is not None:
            return Choice(to_node=target, reason="jump")
    if plain and node.type is not NodeType.HUMAN:
        return _choice(pick(plain, node, seed=seed), "unconditional")
    return None


def retry_target(graph: Graph, names: Iterable[str | None]) -> NodeId | None:
    """The first of the names that is a node of the graph and no exit."""
    for name in names:
        node = graph.nodes.get(NodeId(name)) if name else None
        if node is not None and node.type is not NodeType.EXIT:
            return node.id
    return None


def pick(edges: Sequence[Edge], node: Node, *, seed: str) -> Edge:
    """One of several edges: the heaviest, then the smallest target id, then the first; or a weighted draw."""
    if node.text("selection") == "random":
        return _draw(edges, seed)
    return min(edges, key=lambda edge: (-edge.weight, edge.target.encode(), edge.index))


def _answered(edges: Sequence[Edge], outcome: Outcome) -> Choice | None:
    """The very edge that a person chose, whatever its condition says; of several to a node the one so labelled."""
    chosen = [edge for edge in edges if edge.target in outcome.suggested_next]
    exact = [edge for edge in chosen if edge.label == outcome.preferred_label]
    return _choice((exact or chosen)[0], "preferred_label") if chosen else None


def _named(plain: Sequence[Edge], outcome: Outcome) -> Choice | None:
    if outcome.preferred_label:
        wanted = normal_label(outcome.preferred_label)
        for edge in plain:
            if edge.label is not None and normal_label(edge.label) == wanted:
                return _choice(edge, "preferred_label")
    for suggestion in outcome.suggested_next:
        for edge in plain:
            if edge.target == suggestion:
                return _choice(edge, "suggested_next")
    return None


def _draw(edges: Sequence[Edge], seed: str) -> Edge:
    weights = [max(1, edge.weight) for edge in edges]
    point = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) % sum(weights)
    for edge, weight in zip(edges, weights, strict=True):
        point -= weight
        if point < 0:
            return edge
    return edges[-1]


def _choice(edge: Edge, reason: RouteReason) -> Choice:
    return Choice(to_node=edge.target, reason=reason, edge=edge)
