"""Findings at nodes, edges and the graph. Above: every rule. Below: diagnostics, graph."""

from fabro.dot.span import Span
from fabro.workflow.diagnostics import Diagnostic, Severity
from fabro.workflow.graph import Attributed, Edge, Graph, Node

ERROR = Severity.ERROR
WARNING = Severity.WARNING
HINT = Severity.HINT


def at_graph(
    graph: Graph, rule: str, message: str, fix: str, *, severity: Severity = ERROR, attribute: str | None = None
) -> Diagnostic:
    """A finding about the graph, or one of its attributes."""
    span = _attribute_span(graph, attribute) or graph.span
    return Diagnostic(rule=rule, severity=severity, message=message, fix=fix, file=graph.origin.name, span=span)


def at_node(
    graph: Graph,
    node: Node,
    rule: str,
    message: str,
    fix: str,
    *,
    severity: Severity = ERROR,
    attribute: str | None = None,
) -> Diagnostic:
    """A finding about a node, or one of its attributes."""
    span = _attribute_span(node, attribute) or node.span
    return Diagnostic(
        rule=rule, severity=severity, message=message, fix=fix, file=graph.origin.name, span=span, node=node.id
    )


def at_edge(
    graph: Graph,
    edge: Edge,
    rule: str,
    message: str,
    fix: str,
    *,
    severity: Severity = ERROR,
    span: Span | None = None,
) -> Diagnostic:
    """A finding about an edge; `span` is the place where it is not the edge's beginning."""
    return Diagnostic(
        rule=rule,
        severity=severity,
        message=message,
        fix=fix,
        file=graph.origin.name,
        span=span or edge.span,
        edge=edge.arrow,
    )


def _attribute_span(owner: Attributed, name: str | None) -> Span | None:
    attribute = owner.written.get(name) if name else None
    return attribute.span if attribute else None
