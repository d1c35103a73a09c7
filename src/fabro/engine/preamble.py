"""What a model is told of the run before its prompt. Above: prompt and agent handlers. Below: a run's state.

Source: reference/engine.md §5 (compact). One entry for each node's latest stage, so that its length does not grow
with the number of visits.
"""

from fabro.run.state import RunState, StageEnd
from fabro.workflow.attributes import NodeType
from fabro.workflow.graph import Graph

OUTPUT_LINES = 25
RESPONSE_SHOWN = 2000
"""Characters of an earlier response that are repeated."""
_HIDDEN = frozenset({NodeType.START.value, NodeType.EXIT.value, NodeType.CONDITIONAL.value})


def compact(graph: Graph, state: RunState) -> str:
    """Goal, what each stage did with the end of its output, and the context's own entries."""
    parts = [f"Goal: {graph.goal}"] if graph.goal else []
    ends = [end for end in state.ends.items() if end[1].handler_type not in _HIDDEN]
    if ends:
        parts.append("## Completed stages\n" + "\n".join(_stage(state, node, end) for node, end in ends))
    values = [line for line in sorted(_values(state)) if line]
    if values:
        parts.append("## Context\n" + "\n".join(values))
    return "\n\n".join(parts)


def _stage(state: RunState, node: str, end: StageEnd) -> str:
    lines = [f"- **{node}**: {end.outcome.status.value}"]
    if end.outcome.failure is not None:
        lines.append(f"  Failure: {end.outcome.failure.message}")
    if end.output is not None:
        lines.append(_output(end.output))
    response = state.context.get(f"response.{node}")
    if isinstance(response, str):
        lines.append("  Response: " + response[:RESPONSE_SHOWN])
    return "\n".join(lines)


def _output(output: str) -> str:
    lines = output.rstrip().splitlines()
    if not lines:
        return "  Output: (empty)"
    omitted = max(0, len(lines) - OUTPUT_LINES)
    head = f"  Output ({omitted} lines omitted):" if omitted else "  Output:"
    return "\n".join([head, "```", *lines[omitted:], "```"])


def _values(state: RunState) -> list[str]:
    shown: list[str] = []
    for key, value in state.context.items():
        is_own = key in ("command.output", "last_response", "last_stage") or key.startswith("response.")
        text = str(value)
        if not is_own and text.strip():
            shown.append(f"- {key}: {text[:RESPONSE_SHOWN]}")
    return shown
