"""Rules about single nodes. Above: rules. Below: flow (node types), report."""

import re
from collections.abc import Iterator

from fabro.workflow.attributes import SHAPE_OF, SPECS, TYPE_ALIASES, NodeType, Scope
from fabro.workflow.condition import OUTCOME_KEYS
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Graph, Node
from fabro.workflow.node_type import known_type
from fabro.workflow.rules.flow import TARGETS, of_type
from fabro.workflow.rules.report import HINT, WARNING, at_graph, at_node
from fabro.workflow.suggest import closest, one_slip_away

_KEYWORDS = frozenset({"graph", "digraph", "subgraph", "node", "edge", "strict", "if"})
_ABSOLUTE_CD = re.compile(r"\bcd\s+/")
_TALKERS = (NodeType.AGENT, NodeType.PROMPT)
_CLASHING = frozenset({"script", "prompt"})


def type_known(graph: Graph) -> Iterator[Diagnostic]:
    """An explicit type is one that exists; old names are told."""
    for node in graph.nodes.values():
        name = node.text("type")
        if name is None:
            continue
        known = known_type(name)
        if known is None:
            meant = closest(name, list(NodeType))
            fix = f"did you mean `{meant}`?" if meant else f"write one of {', '.join(NodeType)}"
            message = f"there is no type `{name}`; the node runs as `{node.type}`"
            yield at_node(graph, node, "type_known", message, fix, severity=WARNING, attribute="type")
        elif name in TYPE_ALIASES:
            message = f"`{name}` is an old name for the type `{known}`"
            yield at_node(graph, node, "old_name", message, f"write `{known}`", severity=HINT, attribute="type")


def command_requires_script(graph: Graph) -> Iterator[Diagnostic]:
    """A command has something to run."""
    for node in of_type(graph, NodeType.COMMAND):
        if not (node.text("script") or "").strip():
            message = f"`{node.id}` is a command without a script"
            yield at_node(graph, node, "command_requires_script", message, 'add `script="…"`')


def script_prompt_conflict(graph: Graph) -> Iterator[Diagnostic]:
    """A node has a script or a prompt, not both."""
    for node in graph.nodes.values():
        if node.attributes.keys() >= _CLASHING:
            message = f"`{node.id}` has both a script and a prompt"
            fix = "delete one of them, or make two nodes"
            yield at_node(graph, node, "script_prompt_conflict", message, fix, attribute="prompt")


def prompt_on_llm_nodes(graph: Graph) -> Iterator[Diagnostic]:
    """A node that asks a model says what."""
    for node in of_type(graph, *_TALKERS):
        if not node.attributes.get("prompt") and not node.attributes.get("label"):
            message = f"`{node.id}` has neither a prompt nor a label, so its name is its prompt"
            yield at_node(graph, node, "prompt_on_llm_nodes", message, 'add `prompt="…"`', severity=WARNING)


def wait_requires_duration(graph: Graph) -> Iterator[Diagnostic]:
    """A wait says for how long."""
    for node in of_type(graph, NodeType.WAIT):
        if node.duration("duration") is None:
            message = f"`{node.id}` waits, and does not say how long"
            yield at_node(
                graph, node, "wait_requires_duration", message, 'add `duration="5m"`', attribute="duration"
            )


def stdin_source_valid(graph: Graph) -> Iterator[Diagnostic]:
    """A command that reads from the context names a key."""
    for node in of_type(graph, NodeType.COMMAND):
        source = node.text("stdin_source")
        if source is not None and not source.strip():
            message = f"`{node.id}` has a blank `stdin_source`"
            fix = 'name a context key, such as `stdin_source="command.output"`, or delete it'
            yield at_node(graph, node, "stdin_source_valid", message, fix, attribute="stdin_source")


def script_absolute_cd(graph: Graph) -> Iterator[Diagnostic]:
    """Scripts stay in the work folder, wherever it is."""
    for node in of_type(graph, NodeType.COMMAND):
        if _ABSOLUTE_CD.search(node.text("script") or ""):
            message = f"the script of `{node.id}` changes to an absolute folder, which other machines do not have"
            fix = "use a path relative to the work folder, in which scripts begin"
            yield at_node(graph, node, "script_absolute_cd", message, fix, severity=WARNING, attribute="script")


def reserved_keyword_node_id(graph: Graph) -> Iterator[Diagnostic]:
    """Nodes are not called like the language's own words."""
    for node in graph.nodes.values():
        if node.id.lower() in _KEYWORDS:
            message = f"`{node.id}` is a word of the language"
            yield at_node(
                graph, node, "reserved_keyword_node_id", message, f"call it `{node.id}_node`", severity=WARNING
            )


def import_unsupported(graph: Graph) -> Iterator[Diagnostic]:
    """No node asks to be replaced by another file."""
    for node in graph.nodes.values():
        if "import" in node.attributes:
            message = f"`{node.id}` imports a file, which is not supported"
            fix = f'run the file as a child: `{node.id} [shape=house, stack.child_workflow="…"]`'
            yield at_node(graph, node, "import_unsupported", message, fix, attribute="import")


def inert_attribute(graph: Graph) -> Iterator[Diagnostic]:
    """A node's own attributes mean something for its type."""
    for node in graph.nodes.values():
        clashing = _CLASHING if node.attributes.keys() >= _CLASHING else frozenset[str]()
        for name in sorted(node.own - clashing):
            spec = SPECS[Scope.NODE].get(name)
            if spec is not None and spec.node_types is not None and node.type not in spec.node_types:
                wanted = " or ".join(f"`shape={SHAPE_OF[each]}`" for each in sorted(spec.node_types))
                message = f"`{name}` does nothing on a node of type `{node.type}`"
                yield at_node(
                    graph,
                    node,
                    "inert_attribute",
                    message,
                    f"delete it, or set {wanted}",
                    severity=WARNING,
                    attribute=name,
                )


def retry_target_exists(graph: Graph) -> Iterator[Diagnostic]:
    """Retry targets are nodes."""
    for name in TARGETS:
        target = graph.text(name)
        if target is not None and target not in graph.nodes:
            message, fix = _missing_target(graph, name, target)
            yield at_graph(graph, "retry_target_exists", message, fix, severity=WARNING, attribute=name)
        for node in graph.nodes.values():
            target = node.text(name)
            if target is not None and target not in graph.nodes:
                message, fix = _missing_target(graph, name, target)
                yield at_node(graph, node, "retry_target_exists", message, fix, severity=WARNING, attribute=name)


def _missing_target(graph: Graph, name: str, target: str) -> tuple[str, str]:
    meant = one_slip_away(target, graph.nodes)
    return f"`{name}` names `{target}`, which is no node", f"did you mean `{meant}`?" if meant else "name a node"


def _gates(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes.values() if node.flag("goal_gate")]


def goal_gate_has_retry(graph: Graph) -> Iterator[Diagnostic]:
    """A goal gate that fails leads somewhere."""
    if any(graph.text(name) for name in TARGETS):
        return
    for node in _gates(graph):
        if not any(node.text(name) for name in TARGETS):
            message = f"when the goal gate `{node.id}` fails, the run fails, for there is no retry target"
            fix = 'add `retry_target="…"` to the node or to the graph'
            yield at_node(graph, node, "goal_gate_has_retry", message, fix, severity=WARNING, attribute="goal_gate")


def goal_gate_can_fail(graph: Graph) -> Iterator[Diagnostic]:
    """A goal gate proves something (design §4.16)."""
    for node in _gates(graph):
        if node.type not in _TALKERS or "output_schema" in node.attributes:
            continue
        conditions = [edge.condition for edge in graph.outgoing(node.id) if edge.condition]
        if not any(condition.keys & OUTCOME_KEYS for condition in conditions):
            message = f"the goal gate `{node.id}` passes whatever the model answers"
            fix = 'add `output_schema="routing"`, so that the answer says whether it passed'
            yield at_node(graph, node, "goal_gate_can_fail", message, fix, severity=WARNING, attribute="goal_gate")
