"""Values into a valid graph: its goal, prompts and scripts become final text. Above: the engine, run creation.
Below: template, script.

Data is never a template (design §4.13): a goal, an input or a variable is inserted as it is, and nothing is
rendered twice. A bound graph must therefore not be bound again.
"""

from collections.abc import Mapping
from dataclasses import replace

from fabro.errors import InvalidInput
from fabro.ids import NodeId
from fabro.workflow.attributes import AttributeValue, NodeType
from fabro.workflow.graph import Graph, Node, ValidGraph
from fabro.workflow.load import template_diagnostic, template_name
from fabro.workflow.script import interpolate
from fabro.workflow.template import render
from fabro.workflow.template_problem import TemplateProblem
from fabro.workflow.tokens import Values


def bind(
    valid: ValidGraph,
    *,
    goal: str | None,
    inputs: Mapping[str, str | int | float | bool],
    variables: Mapping[str, str],
) -> ValidGraph:
    """The graph with its goal, its prompts and the tokens of its scripts filled in.

    `goal` replaces the graph's own, word for word; None renders the graph's own. `variables` are the server's.

    Raises:
        InvalidInput: `template_undefined_variable` for a name without a value, or another template rule; the
            message begins with `file:line:col`, and the hint is the fix.
    """
    for name, value in (("goal", goal), *((f"inputs.{key}", value) for key, value in inputs.items())):
        if isinstance(value, str) and "\0" in value:
            raise InvalidInput(f"`{name}` holds a NUL byte", code="invalid_input", hint="remove it")
    graph = valid.graph
    if goal is None:
        values = Values(goal=None, inputs=inputs, variables=variables)
        goal = _final(graph, graph, "goal", values) if "goal" in graph.attributes else ""
    values = Values(goal=goal, inputs=inputs, variables=variables)
    nodes: Mapping[NodeId, Node] = {node.id: _bound(graph, node, values) for node in graph.nodes.values()}
    attributes: Mapping[str, AttributeValue] = {**graph.attributes, "goal": goal}
    return replace(valid, graph=replace(graph, attributes=attributes, nodes=nodes))


def _bound(graph: Graph, node: Node, values: Values) -> Node:
    attribute = "script" if node.type is NodeType.COMMAND else "prompt"
    if attribute not in node.attributes:
        return node
    text = _final(graph, node, attribute, values)
    return (
        node
        if text == node.attributes[attribute]
        else replace(node, attributes={**node.attributes, attribute: text})
    )


def _final(graph: Graph, owner: Graph | Node, attribute: str, values: Values) -> str:
    text = owner.text(attribute) or ""
    name = template_name(graph, owner, attribute)
    try:
        if attribute == "script":
            return interpolate(text, name, owner.text("language") or "", values)
        return render(text, name, graph.files, values)
    except TemplateProblem as problem:
        finding = template_diagnostic(graph, owner, attribute, problem)
        raise InvalidInput(
            f"{finding.place}: {finding.message}", code=finding.rule, hint=finding.fix, details=finding.to_json()
        ) from None
