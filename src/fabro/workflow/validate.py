"""Graph to valid graph: the only door to the engine. Above: load. Below: rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from fabro.workflow.attributes import NodeType
from fabro.workflow.diagnostics import Diagnostic, has_errors
from fabro.workflow.graph import Graph, ValidGraph
from fabro.workflow.rules import RULES
from fabro.workflow.rules.flow import of_type


@dataclass(frozen=True, kw_only=True)
class Validated:
    """All findings, and the valid graph if none of them is an error."""

    valid: ValidGraph | None
    diagnostics: tuple[Diagnostic, ...]


def validate(graph: Graph, earlier: Sequence[Diagnostic] = ()) -> Validated:
    """Apply every rule. `earlier` are findings of the stages before, which count as well. Never raises."""
    diagnostics = (*earlier, *(diagnostic for rule in RULES for diagnostic in rule(graph)))
    if has_errors(diagnostics):
        return Validated(valid=None, diagnostics=diagnostics)
    start = of_type(graph, NodeType.START)[0].id
    exits = frozenset(node.id for node in of_type(graph, NodeType.EXIT))
    valid = ValidGraph(graph=graph, start=start, exits=exits, warnings=diagnostics)
    return Validated(valid=valid, diagnostics=diagnostics)
