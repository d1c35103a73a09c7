"""What one workflow needs: its graph, the files it names, the workflows it calls. Above: package.
Below: load, inline.

Only declared references are followed (reference/mcp-server.md §2): `@file` values, template includes, child
workflows. One that leaves the workflow's folder is not read. What is wrong with the graph itself is told by `load`.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from fabro.errors import InvalidInput
from fabro.workflow.diagnostics import Diagnostic, Severity
from fabro.workflow.graph import Graph
from fabro.workflow.inline import CHILD_REFERENCE, Reference, references_of, unresolved
from fabro.workflow.load import missing_workflow, read_graph, template_owners
from fabro.workflow.paths import resolve_reference
from fabro.workflow.template import references
from fabro.workflow.template_problem import TemplateProblem
from fabro.workflow.version import MAX_FILES, check_file_size

Read: TypeAlias = Callable[[str], str | None]
"""Gives the text of a file by its path within the workflow's folder; None if there is none. May raise InvalidInput
for a file that can't be used."""

CONFIG_NAME = "workflow.toml"
DEFAULT_GRAPH = "workflow.fabro"


@dataclass(kw_only=True)
class Collected:
    """A workflow on its way to a version. `problems` are about files and limits."""

    entrypoint: str
    files: dict[str, str] = field(default_factory=dict[str, str])
    children: dict[str, None] = field(default_factory=dict[str, None])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])


class Refused(Exception):
    """A file can't be used; carries the finding."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def collect(path: str, read: Read) -> Collected:
    """Gather the workflow at `path`, which is a graph or a `workflow.toml`. Never raises."""
    collected = Collected(entrypoint=path)
    collector = _Collector(collected, read)
    try:
        collector.run(path)
    except Refused as refused:
        collected.problems.append(refused.diagnostic)
    return collected


class _Collector:
    """Follows references and fills a `Collected`."""

    def __init__(self, collected: Collected, read: Read) -> None:
        self._found = collected
        self._read = read

    def run(self, path: str) -> None:
        if path.rpartition("/")[2] == CONFIG_NAME:
            path = self._configured(path)
        self._found.entrypoint = path
        self._required(path)
        self._add_sibling_config(path)
        built = read_graph(path, self._found.files)
        if isinstance(built, tuple):
            return
        for owner, attribute in template_owners(built.graph):
            text = owner.attributes.get(attribute)
            if isinstance(text, str) and not text.startswith("@"):
                self._include(text, path)
        for reference in references_of(built.graph):
            self._follow(built.graph, reference)

    def _configured(self, path: str) -> str:
        """The graph that a `workflow.toml` selects, which stands beside it."""
        text = self._required(path)
        graph = selected_graph(path, text)
        if graph.rpartition("/")[0] != path.rpartition("/")[0]:
            raise Refused(
                finding("config_invalid", path, f"`{path}` selects a graph in another folder", "move them together")
            )
        return graph

    def _add_sibling_config(self, path: str) -> None:
        """Add the `workflow.toml` beside the graph if it selects that graph; an invalid one is refused."""
        config = resolve_reference(path, CONFIG_NAME)
        if config in self._found.files or (text := self._text(config)) is None:
            return
        if selected_graph(config, text) == path:
            self._add(config, text)

    def _follow(self, graph: Graph, reference: Reference) -> None:
        path = reference.path
        if path is None:
            return
        if reference.attribute == CHILD_REFERENCE:
            if self._text(path) is None:
                self._found.problems.append(unresolved(graph, reference))
            self._found.children[path] = None
        elif self._take(path) and reference.attribute != "output_schema":
            self._include(self._found.files[path], path)

    def _include(self, text: str, name: str) -> None:
        """Add the files that a template includes, and what those include."""
        waiting = [(text, name)]
        while waiting:
            part, file = waiting.pop()
            fresh = [path for path in self._included(part, file) if path not in self._found.files]
            waiting.extend((self._found.files[path], path) for path in fresh if self._take(path))

    def _included(self, text: str, name: str) -> tuple[str, ...]:
        """What a template includes; nothing of one that is broken, which is told when it is loaded."""
        try:
            return references(text, name)
        except TemplateProblem:
            return ()

    def _take(self, path: str) -> bool:
        """Read a file into the version; false if it does not exist."""
        if path in self._found.files:
            return True
        text = self._text(path)
        if text is None:
            return False
        self._add(path, text)
        return True

    def _required(self, path: str) -> str:
        if not self._take(path):
            raise Refused(missing_workflow(path))
        return self._found.files[path]

    def _text(self, path: str) -> str | None:
        try:
            return self._read(path)
        except InvalidInput as error:
            raise Refused(_refusal(path, error)) from None

    def _add(self, path: str, text: str) -> None:
        try:
            check_file_size(path, text)
        except InvalidInput as error:
            raise Refused(_refusal(path, error)) from None
        self._found.files[path] = text
        if len(self._found.files) > MAX_FILES:
            message = f"a workflow version may have {MAX_FILES} files, and this one needs more"
            fix = "move parts of it into child workflows"
            raise Refused(finding("workflow_version_too_large", path, message, fix))


def selected_graph(path: str, text: str) -> str:
    """The graph that the `workflow.toml` at `path` selects, `workflow.fabro` beside it where it does not say.

    Raises:
        Refused: it is not TOML, or `[workflow].graph` is not a path within the workflow's folder.
    """
    fix = "see the documentation of `workflow.toml`"
    try:
        data: Mapping[str, object] = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise Refused(finding("config_invalid", path, f"`{path}` is not valid TOML", fix)) from None
    section = data.get("workflow", {})
    graph = cast("dict[str, object]", section).get("graph", DEFAULT_GRAPH) if isinstance(section, dict) else None
    if not isinstance(graph, str):
        message = f"`[workflow].graph` in `{path}` must be a string"
        raise Refused(finding("config_invalid", path, message, fix))
    try:
        return resolve_reference(path, graph)
    except InvalidInput as error:
        raise Refused(_refusal(path, error)) from None


def finding(rule: str, file: str, message: str, fix: str) -> Diagnostic:
    """An error about a whole file."""
    return Diagnostic(rule=rule, severity=Severity.ERROR, message=message, fix=fix, file=file)


def _refusal(path: str, error: InvalidInput) -> Diagnostic:
    return finding(error.code, path, error.message, error.hint or "correct the file")
