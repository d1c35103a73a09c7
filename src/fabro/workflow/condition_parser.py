"""Text to condition. Above: build. Below: condition.

    condition = all {"||" all}      all = one {"&&" one}      one = {"!"} ("(" condition ")" | clause)
    clause    = key [operator value]

A word runs up to white space, a double quote or one of `= ! > < & |`; inside it, parentheses that it opens itself
belong to it, so `matches ^(a|b)$` needs quotes only for the `|`. A `(` opens a group only where a key may stand.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from fabro.workflow.attributes import OUTCOME_ALIASES
from fabro.workflow.condition import OUTCOME_KEYS, All, AnyOf, Clause, Condition, Not, Operator, Part
from fabro.workflow.pattern import Pattern, PatternError

MAX_CONDITION = 8192
"""Longest condition, in characters."""
MAX_DEPTH = 64
"""How deep parentheses and `!` may nest."""

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r'[^\s"=!><&|]+')
_STRING = re.compile(r'"[^"\\]*(?:\\(?s:.)[^"\\]*)*"')
_SYMBOL = re.compile(r"&&|\|\||!=|>=|<=|==|[=><!&|]")
_NAMED = re.compile(r"(contains|matches)(?=[\s\"]|$)")
_COMPARISONS = {"=", "!=", ">", "<", ">=", "<="}


class ConditionError(ValueError):
    """A condition that can't be read; `offset` is where in its text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@lru_cache(maxsize=1024)
def parse_condition(text: str) -> Condition:
    """Read a condition that is not blank.

    Raises:
        ConditionError: it does not follow the grammar, or a pattern is not a regular expression.
    """
    if len(text) > MAX_CONDITION:
        raise ConditionError(f"a condition may have {MAX_CONDITION} characters, this one has {len(text)}", 0)
    reader = _Reader(text)
    root = reader.any_of(0)
    if reader.position < len(text):
        raise ConditionError(f"expected `&&` or `||`, found `{text[reader.position]}`", reader.position)
    return Condition(text, root, tuple(reader.aliases))


@dataclass
class _Reader:
    """The text and how far it is read."""

    text: str
    position: int = 0
    open_groups: int = 0

    def __post_init__(self) -> None:
        self.aliases: list[str] = []
        self._skip_space()

    def any_of(self, depth: int) -> Part:
        parts = [self._all(depth)]
        while self._take("||"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self, depth: int) -> Part:
        parts = [self._one(depth)]
        while self._take("&&"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self, depth: int) -> Part:
        if depth > MAX_DEPTH:
            raise ConditionError(f"parentheses and `!` are nested more than {MAX_DEPTH} deep", self.position)
        if self._symbol() == "!":
            self._take("!")
            return Not(self._one(depth + 1))
        opening = self.position
        if self._take("("):
            self.open_groups += 1
            inner = self.any_of(depth + 1)
            if not self._take(")"):
                raise ConditionError("this `(` is never closed", opening)
            self.open_groups -= 1
            return inner
        return self._clause()

    def _clause(self) -> Clause:
        key = self._word()
        if key is None:
            raise ConditionError(f"expected a key, found {self._found()}", self.position)
        symbol = self._symbol()
        if symbol in _COMPARISONS or symbol == "==":
            self._take(symbol)
            operator = Operator.EQUAL if symbol == "==" else Operator(symbol)
            return self._compared(key, operator)
        named = _NAMED.match(self.text, self.position)
        if named:
            self._take(named[1])
            return self._compared(key, Operator(named[1]))
        return Clause(key, Operator.HOLDS)

    def _compared(self, key: str, operator: Operator) -> Clause:
        offset = self.position
        value = self._string() if self.text.startswith('"', offset) else self._word()
        if value is None:
            if operator not in {Operator.EQUAL, Operator.UNEQUAL}:
                raise ConditionError(f"expected a value after `{operator}`, found {self._found()}", offset)
            value = ""
        if key in OUTCOME_KEYS and operator in {Operator.EQUAL, Operator.UNEQUAL} and value in OUTCOME_ALIASES:
            self.aliases.append(value)
            value = OUTCOME_ALIASES[value]
        pattern = _compile(value, offset) if operator is Operator.MATCHES else None
        return Clause(key, operator, value, pattern)

    def _word(self) -> str | None:
        found = _WORD.match(self.text, self.position)
        if found is None:
            return None
        end = self.position + _own_length(found[0]) if self.open_groups else found.end()
        if end == self.position:
            return None
        word = self.text[self.position : end]
        self.position = end
        self._skip_space()
        return word

    def _string(self) -> str:
        found = _STRING.match(self.text, self.position)
        if found is None:
            raise ConditionError("this string is never closed", self.position)
        self.position = found.end()
        self._skip_space()
        return re.sub(r'\\(["\\])', r"\1", found[0][1:-1])

    def _symbol(self) -> str:
        found = _SYMBOL.match(self.text, self.position)
        return found[0] if found else ""

    def _take(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        self._skip_space()
        return True

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.position)
        self.position = found.end() if found else self.position

    def _found(self) -> str:
        return f"`{self.text[self.position]}`" if self.position < len(self.text) else "the end"


def _own_length(word: str) -> int:
    """How much of a word inside a group is the word: up to the first `)` that it did not open."""
    depth = 0
    for index, character in enumerate(word):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return index
    return len(word)


def _compile(pattern: str, offset: int) -> Pattern:
    try:
        return Pattern(pattern)
    except PatternError as error:
        raise ConditionError(str(error), offset) from None
