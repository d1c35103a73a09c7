"""Where something stands in a source text. Above: lexer, syntax, diagnostics. Below: nothing."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

BYTE_ORDER_MARK = "\ufeff"


class Span(NamedTuple):
    """A stretch of a source text: offsets in characters (`end` is exclusive), line and column from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A named text. `name` is the path that people know it by; a leading byte order mark is not part of `text`."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if self.text.startswith(BYTE_ORDER_MARK):
            object.__setattr__(self, "text", self.text[1:])

    @cached_property
    def _line_starts(self) -> list[int]:
        """Offset of each line's first character; lines end with a line feed."""
        starts = [0]
        position = self.text.find("\n")
        while position != -1:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def span(self, start: int, end: int | None = None) -> Span:
        """The span of `start` up to `end`, or of one character."""
        line = bisect_right(self._line_starts, start)
        return Span(start, start + 1 if end is None else end, line, start - self._line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its line end; empty past the last line."""
        if not 1 <= number <= len(self._line_starts):
            return ""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end == -1 else end].rstrip("\r")
