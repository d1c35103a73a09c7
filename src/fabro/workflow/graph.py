"""The graph: nodes, edges and their attributes by type. Above: rules, routing, handlers, drawing.
Below: attributes, condition.

A `Graph` may hold anything that can be built. Only a `ValidGraph` is executed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from fabro.dot.lexer import literal_offset
from fabro.dot.span import Source, Span
from fabro.dot.syntax import Attribute, ValueKind
from fabro.ids import NodeId
from fabro.workflow.attributes import SPECS, AttributeValue, NodeType, Scope
from fabro.workflow.condition import Condition
from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.values import value_text

_NO_SPAN = Span(0, 0, 1, 1)
_WRITTEN: Mapping[str, Attribute] = MappingProxyType({})
_INLINED: Mapping[str, Source] = MappingProxyType({})


def _nothing_written() -> Mapping[str, Attribute]:
    return _WRITTEN


def _nothing_inlined() -> Mapping[str, Source]:
    return _INLINED


@dataclass(frozen=True, kw_only=True, slots=True)
class Attributed:
    """Something with attributes. Each accessor answers for one type and honours the table's default.

    `attributes` holds what was given and could be read, under today's names. `written` is how it stands in the
    file, and `inlined` the files that stand in for `@file` values; both serve messages alone.
    """

    scope: ClassVar[Scope]

    attributes: Mapping[str, AttributeValue]
    written: Mapping[str, Attribute] = field(default_factory=_nothing_written, repr=False, compare=False)
    inlined: Mapping[str, Source] = field(default_factory=_nothing_inlined, repr=False, compare=False)

    def value(self, name: str) -> AttributeValue | None:
        """The value of whatever type, or the default."""
        found = self.attributes.get(name)
        if found is None:
            spec = SPECS[self.scope].get(name)
            return spec.default if spec else None
        return found

    def text(self, name: str) -> str | None:
        """The value as text, however it is typed; None where it is absent without a default."""
        found = self.value(name)
        return None if found is None else value_text(found)

    def integer(self, name: str) -> int | None:
        """The value if it is a whole number."""
        found = self.value(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def number(self, name: str) -> float | None:
        """The value if it is a number."""
        found = self.value(name)
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    def flag(self, name: str) -> bool:
        """Whether the value is true; false where it is absent without a default."""
        return self.value(name) is True

    def duration(self, name: str) -> timedelta | None:
        """The value if it is a duration."""
        found = self.value(name)
        return found if isinstance(found, timedelta) else None

    def locate(self, source: Source, name: str, index: int, length: int = 1) -> "tuple[str, Span] | None":
        """File and place of the character `index` of an attribute's text; None if the attribute is not written."""
        if name in self.inlined:
            return self.inlined[name].name, self.inlined[name].span(index, index + length)
        attribute = self.written.get(name)
        if attribute is None:
            return None
        span = attribute.value.span
        if attribute.value.kind is ValueKind.STRING:
            literal = source.text[span.start : span.end]
            start = span.start + literal_offset(literal, index)
            return source.name, source.span(start, span.start + literal_offset(literal, index + length))
        return source.name, span


@dataclass(frozen=True, kw_only=True, slots=True)
class Node(Attributed):
    """A node. `own` names the attributes of its own statements, as opposed to those that defaults gave it."""

    scope: ClassVar[Scope] = Scope.NODE

    id: NodeId
    type: NodeType
    classes: tuple[str, ...] = ()
    own: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    span: Span = field(default=_NO_SPAN, repr=False, compare=False)

    @property
    def label(self) -> str:
        """The name that people see."""
        return self.text("label") or self.id

    @property
    def prompt_text(self) -> str:
        """What the node asks a model: its prompt, or its label where it has none."""
        return self.text("prompt") or self.label


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge(Attributed):
    """A way from one node to another. `index` is its place in the file, from 0.

    `condition` is None for an unconditional edge, and for one whose `condition_text` can't be read (no valid
    graph holds such an edge).
    """

    scope: ClassVar[Scope] = Scope.EDGE

    index: int
    source: NodeId
    target: NodeId
    label: str | None = None
    condition: Condition | None = None
    condition_text: str = ""
    weight: int = 0
    freeform: bool = False
    span: Span = field(default=_NO_SPAN, repr=False, compare=False)
    target_span: Span = field(default=_NO_SPAN, repr=False, compare=False)

    @property
    def is_conditional(self) -> bool:
        """Whether a condition stands on the edge."""
        return bool(self.condition_text.strip())

    @property
    def arrow(self) -> str:
        """The edge as messages name it."""
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True, kw_only=True)
class Graph(Attributed):
    """A workflow's graph. Nodes and edges keep the order of the file.

    `origin` is the graph file; `files` are all files of its version by path, for what templates include.
    """

    scope: ClassVar[Scope] = Scope.GRAPH

    name: str
    nodes: Mapping[NodeId, Node]
    edges: tuple[Edge, ...]
    origin: Source = field(default=Source("", ""), repr=False, compare=False)
    files: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    span: Span = field(default=_NO_SPAN, repr=False, compare=False)

    @property
    def goal(self) -> str:
        """What the run is for; empty if the graph does not say."""
        return self.text("goal") or ""

    @property
    def label(self) -> str:
        """The name that people see."""
        return self.text("label") or self.name

    @cached_property
    def _outgoing(self) -> Mapping[NodeId, tuple[Edge, ...]]:
        found: dict[NodeId, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
        return {node: tuple(edges) for node, edges in found.items()}

    @cached_property
    def _incoming(self) -> Mapping[NodeId, tuple[Edge, ...]]:
        found: dict[NodeId, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge)
        return {node: tuple(edges) for node, edges in found.items()}

    def outgoing(self, node_id: NodeId) -> tuple[Edge, ...]:
        """The edges that leave a node, in file order."""
        return self._outgoing.get(node_id, ())

    def incoming(self, node_id: NodeId) -> tuple[Edge, ...]:
        """The edges that reach a node, in file order."""
        return self._incoming.get(node_id, ())


@dataclass(frozen=True, kw_only=True)
class ValidGraph:
    """A graph that breaks no rule: the only thing the engine takes. Made by `validate` and by `bind`, nowhere else.

    There is exactly one start; `exits` holds the one exit. Every edge's ends exist. `warnings` did not stop it.
    """

    graph: Graph
    start: NodeId
    exits: frozenset[NodeId]
    warnings: tuple[Diagnostic, ...] = ()
