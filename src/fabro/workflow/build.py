"""Syntax to graph: defaults, chains, subgraphs, classes and typed attributes. Above: load. Below: graph, reading.

Meaning: reference/engine.md §1.5 with design §4.3 (start and exit by name) and §4.11 (nested classes, a subgraph's
label stays its own). Every graph can be built; what is wrong with it is told in diagnostics.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fabro.dot.syntax import (
    Assignment,
    Attribute,
    Defaults,
    DefaultsTarget,
    EdgeStatement,
    Name,
    NodeStatement,
    Statement,
    Subgraph,
    Syntax,
)
from fabro.ids import NodeId
from fabro.workflow.attributes import ALIASES, DRAWING, Scope
from fabro.workflow.condition import Condition
from fabro.workflow.condition_parser import ConditionError, parse_condition
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Edge, Graph, Node
from fabro.workflow.interpret import Interpreter
from fabro.workflow.node_type import type_of

_Written = dict[str, Attribute]


@dataclass(frozen=True, kw_only=True)
class Built:
    """The graph, and what was strange about its attributes and conditions."""

    graph: Graph
    diagnostics: tuple[Diagnostic, ...]


def build(syntax: Syntax) -> Built:
    """Give the syntax its meaning. Never raises."""
    collector = _Collector(frozenset(_declared(syntax.statements)))
    collector.block(syntax.statements, _Scope({}, {}, ()))
    interpreter = Interpreter(syntax.source)
    graph_attributes = interpreter.read(Scope.GRAPH, collector.graph, owner="the graph")
    nodes = {name: _node(draft, interpreter) for name, draft in collector.nodes.items()}
    edges = tuple(_edge(index, draft, interpreter) for index, draft in enumerate(collector.edges))
    graph = Graph(
        name=syntax.name.text,
        attributes=graph_attributes.values,
        written=graph_attributes.written,
        nodes=nodes,
        edges=edges,
        origin=syntax.source,
        span=syntax.name.span,
    )
    return Built(graph=graph, diagnostics=tuple(interpreter.diagnostics))


@dataclass
class _NodeDraft:
    name: Name
    written: _Written
    classes: dict[str, None] = field(default_factory=dict[str, None])
    own: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class _EdgeDraft:
    source: Name
    target: Name
    written: Mapping[str, Attribute]


@dataclass(frozen=True)
class _Scope:
    """What holds inside a block: defaults, and the classes of the subgraphs around it, the innermost first."""

    node_defaults: _Written
    edge_defaults: _Written
    classes: tuple[str, ...]
    is_subgraph: bool = False


def _declared(statements: tuple[Statement, ...]) -> list[str]:
    """Every node that has a statement of its own, at any depth."""
    found: list[str] = []
    for statement in statements:
        if isinstance(statement, NodeStatement):
            found.append(statement.name.text)
        elif isinstance(statement, Subgraph):
            found.extend(_declared(statement.statements))
    return found


class _Collector:
    """Walks the statements and gathers what is written about each thing."""

    def __init__(self, declared: frozenset[str]) -> None:
        self.graph: _Written = {}
        self.nodes: dict[NodeId, _NodeDraft] = {}
        self.edges: list[_EdgeDraft] = []
        self._declared = declared

    def block(self, statements: tuple[Statement, ...], scope: _Scope) -> None:
        for statement in statements:
            match statement:
                case Defaults(target=DefaultsTarget.GRAPH, attributes=attributes):
                    self._graph_attributes(attributes, scope)
                case Assignment(attribute=attribute):
                    self._graph_attributes((attribute,), scope)
                case Defaults() if not scope.is_subgraph:
                    _apply_defaults(statement, scope)
                case NodeStatement():
                    self._declare(statement, scope)
                case EdgeStatement():
                    self._connect(statement, scope)
                case Subgraph():
                    self.block(statement.statements, _inner_scope(statement, scope))
                case _:
                    pass

    def _graph_attributes(self, attributes: tuple[Attribute, ...], scope: _Scope) -> None:
        for attribute in attributes:
            if not scope.is_subgraph or not (attribute.key == "label" or attribute.key in DRAWING):
                self.graph[attribute.key] = attribute

    def _declare(self, statement: NodeStatement, scope: _Scope) -> None:
        draft = self._mention(statement.name, scope)
        for attribute in statement.attributes:
            draft.written[attribute.key] = attribute
            draft.own.add(attribute.key)

    def _mention(self, name: Name, scope: _Scope) -> _NodeDraft:
        draft = self.nodes.get(NodeId(name.text))
        if draft is None:
            draft = self.nodes[NodeId(name.text)] = _NodeDraft(name, dict(scope.node_defaults))
        draft.classes.update(dict.fromkeys(scope.classes))
        return draft

    def _connect(self, statement: EdgeStatement, scope: _Scope) -> None:
        for name in statement.chain:
            if name.text in self._declared:
                self._mention(name, scope)
        written = scope.edge_defaults | {attribute.key: attribute for attribute in statement.attributes}
        for source, target in zip(statement.chain, statement.chain[1:], strict=False):
            self.edges.append(_EdgeDraft(source, target, written))


def _apply_defaults(statement: Defaults, scope: _Scope) -> None:
    """Add to the defaults in force."""
    target = scope.node_defaults if statement.target is DefaultsTarget.NODE else scope.edge_defaults
    target.update({attribute.key: attribute for attribute in statement.attributes})


def _inner_scope(subgraph: Subgraph, outer: _Scope) -> _Scope:
    """The scope of a subgraph; its own defaults hold for all of it, wherever in it they stand."""
    label = _label(subgraph)
    own_class = class_of_label(label) if label else ""
    classes = (own_class, *outer.classes) if own_class else outer.classes
    scope = _Scope(dict(outer.node_defaults), dict(outer.edge_defaults), classes, is_subgraph=True)
    for statement in subgraph.statements:
        if isinstance(statement, Defaults) and statement.target is not DefaultsTarget.GRAPH:
            _apply_defaults(statement, scope)
    return scope


def _label(subgraph: Subgraph) -> str | None:
    """The first label among a subgraph's own statements."""
    for statement in subgraph.statements:
        match statement:
            case Assignment(attribute=Attribute(key="label") as attribute):
                return attribute.value.text
            case Defaults(target=DefaultsTarget.GRAPH, attributes=attributes):
                for attribute in attributes:
                    if attribute.key == "label":
                        return attribute.value.text
            case _:
                pass
    return None


def class_of_label(label: str) -> str:
    """The class that a subgraph's label gives its nodes: lower case, hyphens for spaces, nothing else."""
    return re.sub(r"[^a-z0-9-]", "", label.lower().replace(" ", "-"))


def _node(draft: _NodeDraft, interpreter: Interpreter) -> Node:
    read = interpreter.read(Scope.NODE, draft.written, owner=f"node `{draft.name.text}`", node=draft.name.text)
    named = re.split(r"[,\s]+", str(read.values.get("class", "")))
    return Node(
        id=NodeId(draft.name.text),
        type=type_of(draft.name.text, read.values),
        attributes=read.values,
        written=read.written,
        classes=tuple(dict.fromkeys([*draft.classes, *(word for word in named if word)])),
        own=frozenset(ALIASES[Scope.NODE].get(name, name) for name in draft.own),
        span=draft.name.span,
    )


def _edge(index: int, draft: _EdgeDraft, interpreter: Interpreter) -> Edge:
    arrow = f"{draft.source.text} -> {draft.target.text}"
    read = interpreter.read(Scope.EDGE, draft.written, owner=f"edge `{arrow}`", edge=arrow)
    text = str(read.values.get("condition", ""))
    label, weight = read.values.get("label"), read.values.get("weight", 0)
    return Edge(
        index=index,
        source=NodeId(draft.source.text),
        target=NodeId(draft.target.text),
        label=label if isinstance(label, str) else None,
        condition=_condition(text),
        condition_text=text,
        weight=weight if isinstance(weight, int) else 0,
        freeform=read.values.get("freeform") is True,
        attributes=read.values,
        written=read.written,
        span=draft.source.span,
        target_span=draft.target.span,
    )


def _condition(text: str) -> Condition | None:
    """The condition, or None: the rule `condition_syntax` tells what is wrong with it."""
    if not text.strip():
        return None
    try:
        return parse_condition(text)
    except ConditionError:
        return None
