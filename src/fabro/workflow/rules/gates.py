"""Rules about what a human gate's answers lead to. Above: rules. Below: flow (node types), report."""

from collections.abc import Iterator

from fabro.workflow.attributes import NodeType
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Graph
from fabro.workflow.labels import distinct_keys, normal_label
from fabro.workflow.rules.flow import of_type
from fabro.workflow.rules.report import at_node
from fabro.workflow.suggest import closest

_YES_OR_NO = frozenset({"yes_no", "confirmation"})
_YES = frozenset({"y", "yes"})


def default_choice_leads_on(graph: Graph) -> Iterator[Diagnostic]:
    """What a gate takes when nobody answers is a node that one of its edges leads to."""
    for node in of_type(graph, NodeType.HUMAN):
        default = node.text("human.default_choice")
        targets = [edge.target for edge in graph.outgoing(node.id)]
        if default is None or default in targets or not targets:
            continue
        meant = closest(default, targets) or targets[0]
        message = f"no edge of `{node.id}` leads to its default choice `{default}`"
        yield at_node(
            graph,
            node,
            "default_choice_valid",
            message,
            f"write `human.default_choice={meant}`",
            attribute="human.default_choice",
        )


def yes_leads_on(graph: Graph) -> Iterator[Diagnostic]:
    """A gate that is answered with yes has an edge that says so."""
    for node in of_type(graph, NodeType.HUMAN):
        if node.text("question_type") not in _YES_OR_NO:
            continue
        labels = [edge.label or edge.target for edge in graph.outgoing(node.id) if not edge.freeform]
        said = {normal_label(label) for label in labels} | {key.casefold() for key in distinct_keys(labels)}
        if not said & _YES:
            message = f"`{node.id}` is answered with yes or no, and no edge of it is labelled yes"
            fix = 'label the edges `[label="Yes"]` and `[label="No"]`, or use `question_type=multiple_choice`'
            yield at_node(graph, node, "yes_no_options", message, fix, attribute="question_type")
