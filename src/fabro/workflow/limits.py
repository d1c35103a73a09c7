"""How large a graph may be, so that building it stays quick and small. Above: load. Below: syntax, diagnostics."""

from collections.abc import Iterator

from fabro.dot.syntax import Defaults, DefaultsTarget, EdgeStatement, NodeStatement, Statement, Subgraph, Syntax
from fabro.workflow.diagnostics import Diagnostic, Severity

MAX_NODES = 20_000
MAX_EDGES = 20_000
MAX_DEFAULTS = 64
"""Different attributes that the `node [..]` statements of a file may set, and the `edge [..]` statements likewise.
Each node and edge carries all that are in force."""


def find_excess(syntax: Syntax) -> Diagnostic | None:
    """Which limit the graph goes over, if any."""
    nodes = edges = 0
    defaults: dict[DefaultsTarget, set[str]] = {target: set() for target in DefaultsTarget}
    for statement in _all(syntax.statements):
        match statement:
            case NodeStatement():
                nodes += 1
            case EdgeStatement(chain=chain):
                edges += len(chain) - 1
            case Defaults(target=target, attributes=attributes):
                defaults[target].update(attribute.key for attribute in attributes)
            case _:
                pass
    most_defaults = max(len(defaults[DefaultsTarget.NODE]), len(defaults[DefaultsTarget.EDGE]))
    counts = ((nodes, MAX_NODES, "nodes"), (edges, MAX_EDGES, "edges"), (most_defaults, MAX_DEFAULTS, "defaults"))
    for count, limit, what in counts:
        if count > limit:
            return _too_large(syntax, f"a graph may have {limit} {what}, this one has {count}")
    return None


def _all(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, Subgraph):
            yield from _all(statement.statements)


def _too_large(syntax: Syntax, message: str) -> Diagnostic:
    return Diagnostic(
        rule="graph_too_large",
        severity=Severity.ERROR,
        message=message,
        fix="move parts of it into child workflows",
        file=syntax.source.name,
        span=syntax.name.span,
    )
