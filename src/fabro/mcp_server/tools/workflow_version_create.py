"""`fabro_workflow_version_create`: register a workflow's contents. Above: the catalogue. Below: the calls.

Source: seed 000 "Register workflow contents from a sandbox"; reference/mcp-server.md §1.1.
"""

import anyio.to_thread
from pydantic import BaseModel, Field

from fabro.errors import InvalidInput, Unavailable
from fabro.mcp_server.tools.arguments import Arguments, JsonMap
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define

NAME = "fabro_workflow_version_create"


class VersionCreateArguments(Arguments):
    """A workflow as text."""

    misnamed = {"path": "entrypoint", "graph": "entrypoint", "workflow": "files", "content": "files"}

    entrypoint: str = Field(
        description="Which file is the workflow: exactly one of the keys of `files`, such as workflow.fabro. "
        "Nothing is guessed."
    )
    files: JsonMap[str] = Field(
        description="The files: each key a relative path, each value the file's whole text, never a path or a URL "
        "to fetch. Include everything that the workflow refers to: prompts, imports, child workflows, "
        "workflow.toml. At most 512 files, 512 KiB each, 2 MiB together."
    )


class VersionCreateResult(BaseModel):
    """The new version."""

    workflow_version_id: str = Field(description="The version's id: 64 hex digits, the hash of its contents.")


async def create_version(session: Session, arguments: VersionCreateArguments) -> Answer:
    """Package the files and store every version, dependencies first.

    Raises:
        InvalidInput: the files are no valid workflow.
        Unavailable: nothing here can package workflows.
    """
    if arguments.entrypoint not in arguments.files:
        raise InvalidInput(
            f"entrypoint `{arguments.entrypoint[:240]}` is not present in `files`",
            code="entrypoint_not_supplied",
            hint="Use one of the keys of `files`, letter for letter.",
        )
    if session.packager is None:
        raise Unavailable(f"{NAME} is not available here", code="packaging_unavailable")
    versions = await anyio.to_thread.run_sync(
        session.packager, arguments.entrypoint, arguments.files, abandon_on_cancel=True
    )
    version_id = ""
    calls = await session.backend.calls()
    for version in versions:
        version_id = await calls.versions.create(version)
    return Answer(
        result=VersionCreateResult(workflow_version_id=version_id),
        text=f"Registered workflow version {version_id}",
    )


WORKFLOW_VERSION_CREATE = define(
    create_version,
    name=NAME,
    title="Register a workflow version",
    description=(
        "Registers the contents of a workflow as an immutable version and returns its workflow_version_id. It "
        "creates no run: pass the id to fabro_run_create, as often as you like. Read the workflow's files with "
        "your own tools and send their text; this tool opens no path and fetches no URL. Equal contents always "
        "give the same id, so repeating a call is safe.\n\n"
        'Example: {"entrypoint": "workflow.fabro", "files": {"workflow.fabro": "digraph W { start '
        '[shape=Mdiamond] work [prompt=\\"@prompt.md\\"] exit [shape=Msquare] start -> work -> exit }", '
        '"prompt.md": "Review the implementation."}}'
    ),
    takes=VersionCreateArguments,
    gives=VersionCreateResult,
    hints=Hints(reads_only=False, is_idempotent=True),
)
