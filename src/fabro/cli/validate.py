"""`fabro validate`: read workflows from disk and say what is wrong with them. Above: main. Below: workflow_files.

Findings go to standard error as text, or as one JSON object to standard output (reference/engine.md §10, U-06).
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabro.cli.workflow_files import find_workflow, workflow_reader
from fabro.dot.span import Source
from fabro.errors import FabroError
from fabro.json_value import JsonObject
from fabro.workflow.diagnostics import Diagnostic, Severity, render
from fabro.workflow.graph import Graph
from fabro.workflow.load import load
from fabro.workflow.package import package

VALID, INVALID, UNREADABLE = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """What came of one path. `error` is set when it names no workflow file."""

    path: str
    graph: Graph | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] | None = None
    error: str | None = None

    def exit_code(self, *, strict: bool) -> int:
        """0, 1 or 2; warnings count as errors with `strict`, hints never do."""
        if self.error is not None:
            return UNREADABLE
        fatal = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
        return INVALID if any(diagnostic.severity in fatal for diagnostic in self.diagnostics) else VALID


def validate(files: Sequence[str], *, json_output: bool, strict: bool) -> int:
    """Check each path: a graph, a `workflow.toml`, or a folder with one.

    Returns the exit code: 0 all valid, 1 something is invalid, 2 a path names no workflow.
    """
    checked = [_check(path) for path in files]
    if json_output:
        print(json.dumps(_json(checked, strict=strict), ensure_ascii=False, indent=2))
    else:
        print("\n\n".join(_text(one, strict=strict) for one in checked), file=sys.stderr)
    return max((one.exit_code(strict=strict) for one in checked), default=VALID)


def _check(path: str) -> _Checked:
    try:
        workflow = find_workflow(Path(path))
    except FabroError as error:
        return _Checked(path=path, error=error.advice)
    found = package(workflow.entrypoint, workflow_reader(workflow.root))
    root = found.root
    graph = load(root.entrypoint, root.files).graph if root else None
    return _Checked(path=path, graph=graph, diagnostics=found.diagnostics, sources=found.sources)


def _text(checked: _Checked, *, strict: bool) -> str:
    if checked.error is not None:
        return f"error: {checked.error}"
    lines = [f"Graph: {checked.path}"]
    if checked.graph is not None:
        counts = f"{len(checked.graph.nodes)} nodes, {len(checked.graph.edges)} edges"
        lines.insert(0, f"Workflow: {checked.graph.name} ({counts})")
    sources = {name: Source(name, text) for name, text in (checked.sources or {}).items()}
    lines.extend(render(diagnostic, sources.get(diagnostic.file)) for diagnostic in checked.diagnostics)
    lines.append("Validation: OK" if checked.exit_code(strict=strict) == VALID else "Validation: failed")
    return "\n".join(lines)


def _json(checked: Sequence[_Checked], *, strict: bool) -> JsonObject:
    return {
        "valid": all(one.exit_code(strict=strict) == VALID for one in checked),
        "workflows": [
            {
                "path": one.path,
                "name": one.graph.name if one.graph else None,
                "nodes": len(one.graph.nodes) if one.graph else None,
                "edges": len(one.graph.edges) if one.graph else None,
                "valid": one.exit_code(strict=strict) == VALID,
                "error": one.error,
                "diagnostics": [diagnostic.to_json() for diagnostic in one.diagnostics],
            }
            for one in checked
        ],
    }
