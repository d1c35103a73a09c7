"""A graph as it is written: the syntax tree. Above: parser, printer and the workflow's meaning. Below: span.

The tree keeps what the author wrote, in order; what it means is decided in `fabro.workflow.build`. The parts of
which a large graph has very many are tuples, which are quicker to make than dataclasses.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from fabro.dot.span import Source, Span


class ValueKind(StrEnum):
    """How a value is written (reference/engine.md §1.4)."""

    STRING = "string"
    DURATION = "duration"
    FLOAT = "float"
    INTEGER = "integer"
    WORD = "word"


class Value(NamedTuple):
    """An attribute's value. `text` is a string's content without quotes and escapes, else the literal itself."""

    kind: ValueKind
    text: str
    span: Span


class Attribute(NamedTuple):
    """`key = value`; `span` is the key's."""

    key: str
    value: Value
    span: Span


class Name(NamedTuple):
    """An identifier at its place."""

    text: str
    span: Span


class DefaultsTarget(StrEnum):
    """What a `graph`, `node` or `edge` statement speaks of."""

    GRAPH = "graph"
    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Defaults:
    """`node [..]`, `edge [..]` or `graph [..]`."""

    target: DefaultsTarget
    attributes: tuple[Attribute, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assignment:
    """`key = value` as a statement of its own: an attribute of the graph around it."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class NodeStatement:
    """A node and what is said about it."""

    name: Name
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """A chain of at least two nodes; the attributes belong to each of its edges."""

    chain: tuple[Name, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A block of statements with defaults of its own."""

    name: Name | None
    statements: "tuple[Statement, ...]"
    span: Span


Statement: TypeAlias = Defaults | Assignment | NodeStatement | EdgeStatement | Subgraph


@dataclass(frozen=True, slots=True)
class Syntax:
    """A whole graph file."""

    name: Name
    statements: tuple[Statement, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Something that is not part of the language: what, where, and what to write instead."""

    message: str
    fix: str
    span: Span
