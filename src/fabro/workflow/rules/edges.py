"""Rules about conditions, and about the options of human gates. Above: rules. Below: flow (node types), report."""

from collections.abc import Iterator

from fabro.dot.span import Span
from fabro.workflow.attributes import OUTCOME_ALIASES, OUTCOME_WORDS, NodeType
from fabro.workflow.condition import OUTCOME_KEYS, Operator
from fabro.workflow.condition_parser import ConditionError, parse_condition
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Edge, Graph
from fabro.workflow.labels import accelerator
from fabro.workflow.rules.flow import of_type
from fabro.workflow.rules.report import HINT, WARNING, at_edge, at_node
from fabro.workflow.suggest import closest

_EQUALITIES = frozenset({Operator.EQUAL, Operator.UNEQUAL})


def condition_syntax(graph: Graph) -> Iterator[Diagnostic]:
    """Every condition can be read."""
    for edge in graph.edges:
        if not edge.is_conditional or edge.condition is not None:
            continue
        try:
            parse_condition(edge.condition_text)
        except ConditionError as error:
            place = edge.locate(graph.origin, "condition", error.offset)
            fix = 'write a condition such as `outcome=failed` or `context.tests != "ok" && !done`'
            span = place[1] if place else None
            yield at_edge(graph, edge, "condition_syntax", f"not a condition: {error.message}", fix, span=span)


def old_outcome_word(graph: Graph) -> Iterator[Diagnostic]:
    """Outcomes are spelled as they are today."""
    for edge in graph.edges:
        for word in edge.condition.aliases if edge.condition else ():
            message = f"`{word}` is an old word for `{OUTCOME_ALIASES[word]}`"
            yield at_edge(
                graph,
                edge,
                "old_name",
                message,
                f"write `{OUTCOME_ALIASES[word]}`",
                severity=HINT,
                span=_span(edge),
            )


def orphan_custom_outcome(graph: Graph) -> Iterator[Diagnostic]:
    """Outcomes are compared with words that an outcome can be."""
    for edge in graph.edges:
        for clause in edge.condition.clauses if edge.condition else ():
            is_outcome = clause.key in OUTCOME_KEYS and clause.operator in _EQUALITIES
            if is_outcome and clause.value not in OUTCOME_WORDS:
                meant = closest(clause.value, OUTCOME_WORDS)
                message = f"no outcome is ever `{clause.value}`"
                fix = f"did you mean `{meant}`?" if meant else f"write one of {', '.join(OUTCOME_WORDS)}"
                yield at_edge(
                    graph, edge, "orphan_custom_outcome", message, fix, severity=WARNING, span=_span(edge)
                )


def _span(edge: Edge) -> Span | None:
    written = edge.written.get("condition")
    return written.value.span if written else None


def human_requires_edges(graph: Graph) -> Iterator[Diagnostic]:
    """A human gate has something to choose from."""
    for node in of_type(graph, NodeType.HUMAN):
        if not graph.outgoing(node.id):
            message = f"`{node.id}` asks a person, and no edge leaves it"
            fix = f'add an edge for each answer: `{node.id} -> … [label="[Y] Yes"]`'
            yield at_node(graph, node, "human_requires_edges", message, fix)


def freeform_edge_count(graph: Graph) -> Iterator[Diagnostic]:
    """At most one edge of a human gate takes a person's own words."""
    for node in of_type(graph, NodeType.HUMAN):
        for edge in [edge for edge in graph.outgoing(node.id) if edge.freeform][1:]:
            message = f"`{node.id}` has more than one freeform edge"
            yield at_edge(graph, edge, "freeform_edge_count", message, "delete `freeform=true` from this edge")


def duplicate_accelerator(graph: Graph) -> Iterator[Diagnostic]:
    """The options of a human gate have keys of their own."""
    for node in of_type(graph, NodeType.HUMAN):
        taken: dict[str, str] = {}
        for edge in graph.outgoing(node.id):
            label = edge.label or edge.target
            key = accelerator(label)
            first = taken.setdefault(key.lower(), label)
            if not edge.freeform and first is not label:
                message = f"`{label}` and `{first}` have the same key, `{key}`"
                fix = f'give one of them a key of its own: `[label="[{_other_key(label, taken)}] {label}"]`'
                yield at_edge(graph, edge, "duplicate_accelerator", message, fix, severity=WARNING)


def _other_key(label: str, taken: "dict[str, str]") -> str:
    """A letter or digit that is not taken, from the label if it has one."""
    candidates = [*(character.upper() for character in label if character.isalnum()), *"123456789"]
    return next((candidate for candidate in candidates if candidate.lower() not in taken), "…")
