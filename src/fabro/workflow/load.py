"""Text to valid graph, in one call: parse, build, inline, check templates, validate. Above: CLI, engine, package.
Below: every stage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fabro.dot.parser import parse
from fabro.dot.span import Source
from fabro.workflow.attributes import NodeType
from fabro.workflow.build import Built, build
from fabro.workflow.diagnostics import Diagnostic, Severity
from fabro.workflow.graph import Graph, Node, ValidGraph
from fabro.workflow.inline import inline
from fabro.workflow.limits import find_excess
from fabro.workflow.rules.report import HINT, at_node
from fabro.workflow.script import check_script
from fabro.workflow.template import check, find_old_goal
from fabro.workflow.template_problem import TemplateProblem
from fabro.workflow.validate import validate


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The result of `load`. `graph` is there as soon as the text parses, `valid` when nothing is an error."""

    valid: ValidGraph | None
    diagnostics: tuple[Diagnostic, ...]
    graph: Graph | None


def load(entrypoint: str, files: Mapping[str, str]) -> Loaded:
    """Read the graph at `entrypoint` among the files of its version. Never raises: all that is wrong is told."""
    built = read_graph(entrypoint, files)
    if isinstance(built, tuple):
        return Loaded(valid=None, diagnostics=built, graph=None)
    graph, unresolved = inline(replace(built.graph, files=files), files)
    earlier = (*built.diagnostics, *unresolved, *template_findings(graph))
    validated = validate(graph, earlier)
    return Loaded(valid=validated.valid, diagnostics=validated.diagnostics, graph=graph)


def read_graph(entrypoint: str, files: Mapping[str, str]) -> Built | tuple[Diagnostic, ...]:
    """The graph as it is written, before any file is put in; or why it can't be read."""
    if entrypoint not in files:
        return (missing_workflow(entrypoint),)
    parsed = parse(Source(entrypoint, files[entrypoint]))
    if parsed.syntax is not None:
        excess = find_excess(parsed.syntax)
        return build(parsed.syntax) if excess is None else (excess,)
    return tuple(
        Diagnostic(
            rule="syntax",
            severity=Severity.ERROR,
            message=problem.message,
            fix=problem.fix,
            file=entrypoint,
            span=problem.span,
        )
        for problem in parsed.errors
    )


def missing_workflow(entrypoint: str) -> Diagnostic:
    """The finding that there is no such file."""
    return Diagnostic(
        rule="missing_file",
        severity=Severity.ERROR,
        message=f"the workflow `{entrypoint}` does not exist",
        fix="correct the path",
        file=entrypoint,
    )


def template_findings(graph: Graph) -> Iterator[Diagnostic]:
    """What is wrong with the goal, the prompts and the scripts before any value is known."""
    for owner, attribute in template_owners(graph):
        yield from _finding(graph, owner, attribute)
        if isinstance(owner, Node):
            yield from _old_goal(graph, owner)
    for node in graph.nodes.values():
        if node.type is NodeType.COMMAND and "script" in node.attributes:
            yield from _finding(graph, node, "script")


def template_owners(graph: Graph) -> Iterator[tuple[Graph | Node, str]]:
    """Everything whose text is a template: the goal, and each node's prompt."""
    if "goal" in graph.attributes:
        yield graph, "goal"
    for node in graph.nodes.values():
        if "prompt" in node.attributes:
            yield node, "prompt"


def _finding(graph: Graph, owner: Graph | Node, attribute: str) -> Iterator[Diagnostic]:
    text = owner.text(attribute) or ""
    name = template_name(graph, owner, attribute)
    try:
        if attribute == "script":
            check_script(text, name, owner.text("language") or "")
        else:
            check(text, name, graph.files, is_goal=attribute == "goal")
    except TemplateProblem as problem:
        yield template_diagnostic(graph, owner, attribute, problem)


def _old_goal(graph: Graph, node: Node) -> Iterator[Diagnostic]:
    index = find_old_goal(node.text("prompt") or "")
    place = node.locate(graph.origin, "prompt", index, 5) if index is not None else None
    if place is not None:
        finding = at_node(
            graph, node, "old_name", "`$goal` is an old way to insert the goal", "write `{{ goal }}`", severity=HINT
        )
        yield replace(finding, file=place[0], span=place[1])


def template_name(graph: Graph, owner: Graph | Node, attribute: str) -> str:
    """The file that holds an attribute's text, which is what its includes are relative to."""
    return owner.inlined[attribute].name if attribute in owner.inlined else graph.origin.name


def template_diagnostic(graph: Graph, owner: Graph | Node, attribute: str, problem: TemplateProblem) -> Diagnostic:
    """A problem of an attribute's text, or of a file that it includes, as a finding at its place."""
    place = problem.place
    own = place.file == template_name(graph, owner, attribute)
    located = owner.locate(graph.origin, attribute, place.index, place.length) if own else None
    if located is None:
        span = Source(place.file, graph.files.get(place.file, "")).span(place.index, place.index + place.length)
        located = place.file, span
    return Diagnostic(
        rule=problem.rule,
        severity=Severity.ERROR,
        message=problem.message,
        fix=problem.fix,
        file=located[0],
        span=located[1],
        node=owner.id if isinstance(owner, Node) else None,
    )
