"""What a workflow's author is told: rule, place, and how to mend it. Above: rules, load, CLI, REST. Below: dot.

Text and JSON carry the same facts (design §4.14).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from fabro.dot.span import Source, Span
from fabro.json_value import JsonObject

_MAX_SHOWN = 160
_MARGIN = 60


class Severity(StrEnum):
    """An error stops the workflow, a warning does not (unless asked to), a hint is advice."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One finding. `fix` says what to write; done so, the finding is gone. `edge` is written `a -> b`."""

    rule: str
    severity: Severity
    message: str
    fix: str
    file: str
    span: Span | None = None
    node: str | None = None
    edge: str | None = None

    @property
    def place(self) -> str:
        """`file:line:col`, or the file alone."""
        return f"{self.file}:{self.span.line}:{self.span.column}" if self.span else self.file

    def to_json(self) -> JsonObject:
        """For programs: every field, line and column from 1, null where unknown."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "message": self.message,
            "fix": self.fix,
            "file": self.file,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
            "node": self.node,
            "edge": self.edge,
        }


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether one of them is an error."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def render(diagnostic: Diagnostic, source: Source | None) -> str:
    """A few lines for people: place, message and rule, the source line with a caret, the fix."""
    subject = _subject(diagnostic)
    lines = [f"{diagnostic.severity}: {diagnostic.place}: {subject}{diagnostic.message} ({diagnostic.rule})"]
    if source is not None and diagnostic.span is not None:
        lines.extend(_excerpt(source, diagnostic.span))
    lines.append(f"  fix: {diagnostic.fix}")
    return "\n".join(lines)


def _subject(diagnostic: Diagnostic) -> str:
    if diagnostic.node is not None:
        return f"[node: {diagnostic.node}] "
    return f"[edge: {diagnostic.edge}] " if diagnostic.edge is not None else ""


def _excerpt(source: Source, span: Span) -> list[str]:
    """The line and a caret under the span; of a long line only the part around it."""
    whole = source.line(span.line)
    first = max(0, span.column - 1 - _MARGIN) if len(whole) > _MAX_SHOWN else 0
    shown = whole[first : first + _MAX_SHOWN]
    offset = span.column - 1 - first
    width = max(1, min(span.end - span.start, len(shown) - offset))
    number = f"{span.line:>5} | "
    lead = "".join("\t" if character == "\t" else " " for character in shown[:offset])
    return [number + _printable(shown), " " * (len(number) - 2) + "| " + lead + "^" * width]


def _printable(line: str) -> str:
    """Without control characters, which could take over a terminal."""
    return "".join(character if character.isprintable() or character == "\t" else "·" for character in line)
