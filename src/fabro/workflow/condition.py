"""Conditions of edges: what they are, how they hold, and which values they look at. Above: graph, routing, rules.
Below: condition_parser (text to condition), exhaustive (which sets of conditions leave nothing out).

Language: reference/engine.md §4, with parentheses, `==` and dotted lookup (design §4.10).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from fabro.json_value import JsonValue
from fabro.workflow.pattern import Pattern

Lookup: TypeAlias = Callable[[str], JsonValue]
"""Gives the value of a whole key such as `outcome`, `context.tests.passed` or `command.output`; None if missing."""

MAX_SEARCHED = 65_536
"""`matches` looks at this many characters of a value and no further, which bounds its time."""
CONTEXT_PREFIX = "context."
OUTCOME_KEYS = frozenset({"outcome", "context.outcome"})
_FALSE_TEXTS = frozenset({"", "false", "0"})


class Operator(StrEnum):
    """How a clause compares. HOLDS is the bare key: its text is none of "", "false" and "0"."""

    EQUAL = "="
    UNEQUAL = "!="
    GREATER = ">"
    LESS = "<"
    GREATER_EQUAL = ">="
    LESS_EQUAL = "<="
    CONTAINS = "contains"
    MATCHES = "matches"
    HOLDS = "holds"


@dataclass(frozen=True)
class Clause:
    """`key operator value`. `pattern` is the compiled value of MATCHES."""

    key: str
    operator: Operator
    value: str = ""
    pattern: Pattern | None = None


@dataclass(frozen=True)
class Not:
    """The opposite."""

    part: "Part"


@dataclass(frozen=True)
class All:
    """`&&`: every part holds."""

    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class AnyOf:
    """`||`: at least one part holds."""

    parts: "tuple[Part, ...]"


Part: TypeAlias = Clause | Not | All | AnyOf


@dataclass(frozen=True)
class Condition:
    """A condition as written, and what it means. `aliases` are the old outcome words that it uses."""

    text: str
    root: Part
    aliases: tuple[str, ...] = ()

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses, from left to right."""
        return tuple(_clauses(self.root))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Every key that the condition looks up."""
        return frozenset(clause.key for clause in self.clauses)

    def holds(self, lookup: Lookup) -> bool:
        """Whether the condition is true of what `lookup` gives. Never raises unless `lookup` does."""
        return _holds(self.root, lookup)


def resolve(values: Mapping[str, JsonValue], key: str) -> JsonValue:
    """The value of a key among flat context values; None if there is none.

    The whole key goes first, then the key without `context.`; then the longest leading part that is a key, and
    the rest step by step into JSON objects and, by number, into lists.
    """
    if key in values:
        return values[key]
    bare = key.removeprefix(CONTEXT_PREFIX)
    if bare in values:
        return values[bare]
    for candidate in (key, bare):
        found = _resolve_dotted(values, candidate)
        if found is not None:
            return found
    return None


def text_of(value: JsonValue) -> str:
    """A value as conditions compare it: strings as they are, null as "", everything else as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _resolve_dotted(values: Mapping[str, JsonValue], key: str) -> JsonValue:
    steps = key.split(".")
    for count in range(len(steps) - 1, 0, -1):
        head = ".".join(steps[:count])
        if head in values:
            return _walk(values[head], steps[count:])
    return None


def _walk(value: JsonValue, steps: Sequence[str]) -> JsonValue:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, Sequence) and not isinstance(value, str) and step.isascii() and step.isdigit():
            index = int(step) if len(step) < 10 else len(value)
            value = value[index] if index < len(value) else None
        else:
            return None
    return value


def _clauses(part: Part) -> list[Clause]:
    match part:
        case Clause():
            return [part]
        case Not(part=inner):
            return _clauses(inner)
        case All(parts=parts) | AnyOf(parts=parts):
            return [clause for inner in parts for clause in _clauses(inner)]


def _holds(part: Part, lookup: Lookup) -> bool:
    match part:
        case Clause():
            return _clause_holds(part, lookup(part.key))
        case Not(part=inner):
            return not _holds(inner, lookup)
        case All(parts=parts):
            return all(_holds(inner, lookup) for inner in parts)
        case AnyOf(parts=parts):
            return any(_holds(inner, lookup) for inner in parts)


def _clause_holds(clause: Clause, value: JsonValue) -> bool:
    match clause.operator:
        case Operator.HOLDS:
            return text_of(value) not in _FALSE_TEXTS
        case Operator.EQUAL:
            return text_of(value) == clause.value
        case Operator.UNEQUAL:
            return text_of(value) != clause.value
        case Operator.CONTAINS:
            return _contains(value, clause.value)
        case Operator.MATCHES:
            return clause.pattern is not None and clause.pattern.is_in(text_of(value)[:MAX_SEARCHED])
        case _:
            return _compare(clause.operator, text_of(value), clause.value)


def _contains(value: JsonValue, wanted: str) -> bool:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(text_of(element) == wanted for element in value)
    return wanted in text_of(value)


def _compare(operator: Operator, left_text: str, right_text: str) -> bool:
    """Compare as numbers; false where either side is none."""
    try:
        left, right = float(left_text), float(right_text)
    except ValueError:
        return False
    match operator:
        case Operator.GREATER:
            return left > right
        case Operator.LESS:
            return left < right
        case Operator.GREATER_EQUAL:
            return left >= right
        case _:
            return left <= right
