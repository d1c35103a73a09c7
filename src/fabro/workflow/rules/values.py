"""Rules about attributes that take one of a few words, and about template marks. Above: rules. Below: report."""

from collections.abc import Iterator

from fabro.workflow.attributes import FIDELITIES, SPECS, Scope
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Edge, Graph, Node
from fabro.workflow.rules.report import ERROR, WARNING, Severity, at_edge, at_graph, at_node

_DIRECTIONS = ("TB", "LR", "BT", "RL")
_RULES = {"selection": "selection_valid", "fidelity": "fidelity_valid", "language": "language_valid"}
_WARNED = frozenset({"selection", "fidelity", "retry_policy"})
_RENDERED = {
    Scope.GRAPH: frozenset({"goal"}),
    Scope.NODE: frozenset({"prompt", "script", "stack.child_dot_source"}),
    Scope.EDGE: frozenset[str](),
}
_CHOICES = {scope: [spec for spec in SPECS[scope].values() if spec.choices] for scope in Scope}


def choice_valid(graph: Graph) -> Iterator[Diagnostic]:
    """Attributes that take one of a few words hold one of them."""
    for owner in (*graph.nodes.values(), *graph.edges):
        for spec in _CHOICES[owner.scope]:
            value = owner.attributes.get(spec.name)
            if value is not None and value not in spec.choices:
                report = _Place(graph, owner, spec.name)
                rule = _RULES.get(spec.name, "choice_valid")
                severity = WARNING if spec.name in _WARNED else ERROR
                yield report.finding(rule, severity, *_wrong(spec.name, str(value), spec.choices))


def graph_choices(graph: Graph) -> Iterator[Diagnostic]:
    """The same for the graph's own attributes."""
    fidelity = graph.text("default_fidelity") or ""
    if fidelity not in FIDELITIES:
        report = _Place(graph, graph, "default_fidelity")
        yield report.finding("fidelity_valid", WARNING, *_wrong("default_fidelity", fidelity, FIDELITIES))
    direction = graph.text("rankdir")
    if direction is not None and direction not in _DIRECTIONS:
        report = _Place(graph, graph, "rankdir")
        yield report.finding("direction_valid", WARNING, *_wrong("rankdir", direction, _DIRECTIONS))


def detemplated_attribute(graph: Graph) -> Iterator[Diagnostic]:
    """Template marks stand only where templates are rendered."""
    for owner in (graph, *graph.nodes.values(), *graph.edges):
        rendered = _RENDERED[owner.scope] | owner.inlined.keys()
        for name, value in owner.attributes.items():
            if isinstance(value, str) and ("{{" in value or "{%" in value) and name not in rendered:
                message = f"`{name}` is no template, so its braces stay as they are"
                fix = "write plain text; only `goal` and `prompt` are templates"
                yield _Place(graph, owner, name).finding("detemplated_attribute", WARNING, message, fix)


def _wrong(name: str, value: str, choices: tuple[str, ...]) -> tuple[str, str]:
    """Message and fix for a word that is none of the choices."""
    return f"`{name}` can't be `{value[:40]}`", f"write one of {', '.join(choices)}"


class _Place:
    """An attribute of whatever has attributes."""

    def __init__(self, graph: Graph, owner: Graph | Node | Edge, attribute: str) -> None:
        self._graph = graph
        self._owner = owner
        self._attribute = attribute

    def finding(self, rule: str, severity: Severity, message: str, fix: str) -> Diagnostic:
        """A finding at that attribute."""
        graph, owner, name = self._graph, self._owner, self._attribute
        match owner:
            case Node():
                return at_node(graph, owner, rule, message, fix, severity=severity, attribute=name)
            case Edge():
                written = owner.written.get(name)
                span = written.span if written else None
                return at_edge(graph, owner, rule, message, fix, severity=severity, span=span)
            case Graph():
                return at_graph(graph, rule, message, fix, severity=severity, attribute=name)
