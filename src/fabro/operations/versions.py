"""Workflow versions: store, read, and turn into graphs. Above: runs, doors. Below: the language, blobs.

Source: reference/mcp-server.md §2.
"""

from collections import OrderedDict

import anyio.to_thread

from fabro.errors import InvalidInput, NotFound, StorageError
from fabro.ids import BlobId, VersionId, is_sha256_hex
from fabro.run.spec import RunSpec
from fabro.store.blobs import Blobs
from fabro.workflow.bind import bind
from fabro.workflow.diagnostics import Severity
from fabro.workflow.graph import ValidGraph
from fabro.workflow.load import load
from fabro.workflow.version import Version, parse_version

GRAPHS_KEPT = 64
"""How many parsed versions stay in memory."""


class Versions:
    """Versions by their content's hash."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._graphs: OrderedDict[VersionId, ValidGraph] = OrderedDict()

    async def create(self, version: Version) -> VersionId:
        """Check and store a version; equal contents give the same id.

        Raises:
            InvalidInput: the workflow is not valid, or a dependency is not stored.
            TooLarge: it is over a limit.
        """
        await anyio.to_thread.run_sync(_valid_graph, version)
        for path, dependency in sorted(version.workflow_dependencies.items()):
            await self._require_dependency(path, dependency)
        return VersionId(await self._blobs.put(version.canonical_bytes))

    async def get(self, version_id: str) -> Version:
        """A stored version.

        Raises:
            NotFound: `workflow_version_not_found`.
        """
        wanted = version_id.strip().lower()
        if not is_sha256_hex(wanted):
            raise InvalidInput(
                f"workflow version id {version_id!r}: wanted exactly 64 hexadecimal characters",
                code="run_intent_invalid",
            )
        try:
            content = await self._blobs.get(BlobId(wanted))
            return parse_version(content)
        except (NotFound, InvalidInput) as error:
            raise _unknown(wanted) from error
        except StorageError as error:
            if error.code != "blob_damaged":
                raise
            raise InvalidInput(
                f"workflow version {wanted} is damaged in the storage",
                code="workflow_version_unusable",
                hint="Register its files again.",
            ) from error

    async def graph(self, version_id: VersionId) -> ValidGraph:
        """A version's graph with goal and prompts as they were written."""
        known = self._graphs.get(version_id)
        if known is not None:
            self._graphs.move_to_end(version_id)
            return known
        version = await self.get(version_id)
        try:
            graph = await anyio.to_thread.run_sync(_valid_graph, version)
        except InvalidInput as error:
            raise InvalidInput(
                f"workflow version {version_id} is stored and can't be used: {error.message}",
                code="workflow_version_unusable",
            ) from error
        self._graphs[version_id] = graph
        while len(self._graphs) > GRAPHS_KEPT:
            self._graphs.popitem(last=False)
        return graph

    async def bound_graph(self, spec: RunSpec) -> ValidGraph:
        """The graph that a run follows: goal, prompts and scripts in their final words."""
        graph = await self.graph(spec.version_id)
        return bind(graph, goal=spec.goal, inputs=spec.args.inputs, variables={})

    async def _require_dependency(self, path: str, dependency: str) -> None:
        try:
            await self.get(dependency)
        except (NotFound, InvalidInput) as error:
            raise InvalidInput(
                f"workflow_dependencies.{path}: version {dependency} is not stored",
                code="workflow_version_dependency_not_found",
                hint="Upload the child workflow's version first.",
            ) from error


def _unknown(version_id: str) -> NotFound:
    return NotFound(
        f"workflow version {version_id} not found",
        code="workflow_version_not_found",
        hint="Register it with fabro_workflow_version_create, or run `fabro run FILE`.",
    )


def _valid_graph(version: Version) -> ValidGraph:
    loaded = load(version.entrypoint, version.files)
    if loaded.valid is not None:
        return loaded.valid
    errors = [diagnostic for diagnostic in loaded.diagnostics if diagnostic.severity is Severity.ERROR]
    listed = "; ".join(f"{error.rule}: {error.message}" for error in errors[:5])
    more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
    raise InvalidInput(
        f"workflow {version.entrypoint!r} is not valid: {listed}{more}",
        code="workflow_version_invalid",
        hint="`fabro validate FILE` shows each error with its place and a fix.",
    )
