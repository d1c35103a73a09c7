"""Files to versions: a workflow and the workflows it calls, each as an immutable version. Above: operations, CLI.
Below: collect, load, version.

Rules: reference/mcp-server.md §1.1 and §2. Nothing is executed, resolved or fetched.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabro.errors import InvalidInput, TooLarge
from fabro.ids import VersionId
from fabro.json_value import JsonValue
from fabro.workflow.collect import CONFIG_NAME, Collected, Read, collect, finding
from fabro.workflow.diagnostics import Diagnostic, Severity
from fabro.workflow.load import load
from fabro.workflow.paths import check_path, find_collision, portable_key
from fabro.workflow.version import MAX_FILES, MAX_LEVELS, Version, check_count, check_file_size

BLOCKING_RULES = frozenset(
    {
        "syntax",
        "graph_too_large",
        "missing_file",
        "unresolved_file_ref",
        "import_unsupported",
        "template_syntax",
        "missing_include",
        "include_cycle",
        "reference_escapes",
        "invalid_workflow_path",
    }
)
"""Rules without which there is no complete version. A version that breaks others may be stored, and not run."""
MAX_SOURCE_BYTES = 2 * 1024 * 1024
"""All supplied files together."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """The result of packaging.

    `versions` holds dependencies before those that need them, the root last; it is empty if a file is missing,
    unreadable, no graph or over a limit. `diagnostics` are the findings in all graphs, errors of the rules among
    them: such versions may be registered, and can't be run. `sources` are the files that were read, for carets.
    """

    versions: tuple[Version, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(repr=False)

    @property
    def root(self) -> Version | None:
        """The version of the entrypoint."""
        return self.versions[-1] if self.versions else None

    def refusal(self) -> InvalidInput | None:
        """Why there are no versions, in words that hold no text of the files: paths, rules and places alone."""
        if self.versions:
            return None
        errors = [diagnostic for diagnostic in self.diagnostics if diagnostic.severity is Severity.ERROR]
        places: list[JsonValue] = [_without_text(diagnostic) for diagnostic in errors]
        first = errors[0]
        return InvalidInput(
            f"the workflow can't be packaged: {first.place} breaks the rule {first.rule}",
            code="workflow_version_invalid",
            hint="check configuration, syntax, local references and limits with `fabro validate`",
            details={"diagnostics": places},
        )


def _without_text(diagnostic: Diagnostic) -> JsonValue:
    kept = ("rule", "severity", "file", "line", "column")
    return {name: value for name, value in diagnostic.to_json().items() if name in kept}


def package_supplied(entrypoint: str, files: Mapping[str, str]) -> Package:
    """Package from files that a caller supplied, all of which must be in order, used or not.

    Raises:
        InvalidInput: a path, a missing entrypoint, a collision (letter case does not tell paths apart), or a
            broken `workflow.toml` beside the entrypoint.
        TooLarge: too many files, a file or all together too large.
    """
    check_path(entrypoint)
    for path in files:
        check_path(path)
    if entrypoint not in files:
        raise InvalidInput(
            f"the entrypoint `{entrypoint}` is not among the files",
            code="workflow_version_invalid",
            hint="name one of the keys of `files`, exactly",
        )
    check_count(len(files), MAX_FILES, "files")
    total = sum(check_file_size(path, text) for path, text in files.items())
    if total > MAX_SOURCE_BYTES:
        message = f"the files of a workflow may have {MAX_SOURCE_BYTES} bytes together, these have {total}"
        raise TooLarge(message, code="workflow_version_too_large")
    collision = find_collision(files, portable=True)
    if collision is not None:
        raise InvalidInput(
            f"the paths `{collision[0]}` and `{collision[1]}` collide",
            code="workflow_version_invalid",
            hint="rename one of them; upper and lower case do not tell paths apart",
        )
    _check_config_names(files)
    return package(entrypoint, files.get)


def _check_config_names(files: Mapping[str, str]) -> None:
    for path in files:
        name = path.rpartition("/")[2]
        if name != CONFIG_NAME and portable_key(name) == CONFIG_NAME:
            message = f"`{path}` is spelled almost like `{CONFIG_NAME}`, and would not be read as it"
            raise InvalidInput(message, code="workflow_version_invalid", hint=f"name it `{CONFIG_NAME}`")


def package(entrypoint: str, read: Read) -> Package:
    """Package the workflow at `entrypoint` (a graph or a `workflow.toml`) with everything that it reaches.

    `read` is asked only for paths that are declared and lie within the workflow's folder. Never raises but what
    `read` raises beside InvalidInput.
    """
    packager = _Packager(read)
    packager.enter(entrypoint)
    versions = () if packager.is_blocked else tuple(packager.versions.values())
    return Package(versions=versions, diagnostics=tuple(packager.diagnostics), sources=packager.sources)


class _Packager:
    """Packages workflows depth first, each once."""

    def __init__(self, read: Read) -> None:
        self.versions: dict[str, Version] = {}
        self.diagnostics: list[Diagnostic] = []
        self.sources: dict[str, str] = {}
        self.is_blocked = False
        self._read = read

    def enter(self, entrypoint: str) -> None:
        """Begin at the entrypoint, if it is a path within the folder."""
        try:
            check_path(entrypoint)
        except InvalidInput as error:
            self._block([finding(error.code, entrypoint, error.message, error.hint or "correct the path")])
        else:
            self.visit(entrypoint, ())

    def visit(self, path: str, chain: tuple[str, ...]) -> VersionId | None:
        """The version id of the workflow at `path`; None where something is in the way, which is noted."""
        if path in self.versions:
            return self.versions[path].id
        if path in chain:
            way = " → ".join(f"`{step}`" for step in (*chain[chain.index(path) :], path))
            message = f"workflows call each other in a circle: {way}"
            return self._block([finding("dependency_cycle", path, message, "break the circle")])
        if len(chain) >= MAX_LEVELS:
            message = f"child workflows are nested more than {MAX_LEVELS} levels deep at `{path}`"
            fix = "call the inner workflows from further out"
            return self._block([finding("dependency_nesting", path, message, fix)])
        collected = collect(path, self._read)
        self.sources.update(collected.files)
        if collected.problems:
            return self._block(collected.problems)
        diagnostics = load(collected.entrypoint, collected.files).diagnostics
        if any(diagnostic.rule in BLOCKING_RULES for diagnostic in diagnostics):
            return self._block(diagnostics)
        self.diagnostics.extend(diagnostics)
        return self._assemble(path, collected, (*chain, path))

    def _assemble(self, path: str, collected: Collected, chain: tuple[str, ...]) -> VersionId | None:
        pinned = {child: self.visit(child, chain) for child in collected.children}
        dependencies = {child: version_id for child, version_id in pinned.items() if version_id is not None}
        if len(dependencies) < len(pinned):
            return None
        try:
            version = Version(
                entrypoint=collected.entrypoint, files=collected.files, workflow_dependencies=dependencies
            )
        except InvalidInput as error:
            return self._block([finding(error.code, path, error.message, error.hint or "correct the file")])
        self.versions[path] = version
        return version.id

    def _block(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.is_blocked = True
        self.diagnostics.extend(diagnostics)
