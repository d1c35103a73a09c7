"""Registering workflows over MCP."""

from collections.abc import Mapping

import pytest

from fabro.mcp_server.server import Serving
from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    ERAS,
    SEED_FILES,
    Era,
    client_of,
    create,
    lazily,
    refused,
    serving,
    structured,
    text_of,
)

pytestmark = pytest.mark.anyio
TOOL = "fabro_workflow_version_create"
PLAIN = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"


@pytest.mark.parametrize("era", ERAS)
async def test_the_seeds_example_registers(era: Era, operations: Operations) -> None:
    async with client_of(serving(operations), era) as client:
        result = await client.call_tool(TOOL, {"entrypoint": "workflow.fabro", "files": SEED_FILES})
    version_id = structured(result)["workflow_version_id"]
    assert isinstance(version_id, str)
    assert structured(result) == {"workflow_version_id": version_id}
    assert text_of(result) == f"Registered workflow version {version_id}"
    assert dict((await operations.versions.get(version_id)).files) == SEED_FILES


async def test_equal_contents_have_one_id_and_changed_contents_another(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        found = [
            structured(await client.call_tool(TOOL, {"entrypoint": "workflow.fabro", "files": files}))
            for files in (SEED_FILES, dict(reversed(SEED_FILES.items())), {**SEED_FILES, "prompt.md": "Other."})
        ]
    assert found[0] == found[1] != found[2]


async def test_files_may_come_as_json_text(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        text = '{"workflow.fabro": "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"}'
        assert structured(await client.call_tool(TOOL, {"entrypoint": "workflow.fabro", "files": text}))


async def test_a_child_workflow_is_stored_before_its_parent(operations: Operations) -> None:
    parent = (
        "digraph P { start [shape=Mdiamond] exit [shape=Msquare] "
        'sub [shape=house stack.child_workflow="child.fabro"] start -> sub -> exit }'
    )
    async with client_of(serving(operations)) as client:
        result = await client.call_tool(
            TOOL, {"entrypoint": "p.fabro", "files": {"p.fabro": parent, "child.fabro": PLAIN}}
        )
    version = await operations.versions.get(str(structured(result)["workflow_version_id"]))
    (child,) = version.workflow_dependencies.values()
    assert (await operations.versions.get(child)).files == {"child.fabro": PLAIN}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"entrypoint": "workflow", "files": {"workflow.fabro": PLAIN}}, "entrypoint `workflow` is not"),
        ({"entrypoint": "W.fabro", "files": {"w.fabro": PLAIN}}, "entrypoint `W.fabro` is not"),
        ({"entrypoint": "w", "files": {"w": PLAIN, "../x": ""}}, "`../x`"),
        ({"entrypoint": "w", "files": {"w": PLAIN, "A": "", "a": ""}}, "collide"),
        ({"entrypoint": "w", "files": {"w": PLAIN, "big": "x" * 524_289}}, "524288"),
        ({"entrypoint": "w", "files": {"w": PLAIN, **{f"f{n}": "" for n in range(512)}}}, "512"),
        ({"entrypoint": "w", "files": {"w": PLAIN, **{f"f{n}": "x" * 500_000 for n in range(5)}}}, "2097152"),
        ({"entrypoint": "w", "files": {"w": "digraph {"}}, "can't be packaged"),
        ({"entrypoint": "w", "files": {"w": SEED_FILES["workflow.fabro"]}}, "can't be packaged"),
        ({"entrypoint": "w"}, "`files` is missing"),
        ({"entrypoint": "w", "files": {"w": PLAIN}, "cwd": "/"}, "no field `cwd`"),
        ({"entrypoint": "w", "files": {"w": PLAIN}, "url": "https://x"}, "no field `url`"),
        ({"entrypoint": "w", "files": {"w": 1}}, "`files.w` is the number 1; wanted a string"),
    ],
)
async def test_refusals_need_no_server(arguments: Mapping[str, object], said: str) -> None:
    def unreachable() -> object:
        raise AssertionError("a connection was opened")

    async with client_of(lazily(unreachable)) as client:  # pyright: ignore[reportArgumentType] - it must not be called
        assert said in refused(await client.call_tool(TOOL, dict(arguments)))
        assert (await client.list_tools()).tools


async def test_a_broken_workflow_is_refused_without_its_text(operations: Operations) -> None:
    files = {"w.fabro": "digraph W { secret_word -> }"}
    async with client_of(serving(operations)) as client:
        text = refused(await client.call_tool(TOOL, {"entrypoint": "w.fabro", "files": files}))
    assert "w.fabro" in text
    assert "secret_word" not in text
    assert text.endswith("[workflow_version_invalid]")


async def test_without_a_packager_the_tool_says_so(operations: Operations) -> None:
    served = Serving(lifespan=serving(operations).lifespan)
    async with client_of(served) as client:
        text = refused(await client.call_tool(TOOL, {"entrypoint": "w", "files": {"w": PLAIN}}))
    assert "is not available" in text


async def test_registering_creates_no_run(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        version_id = structured(await client.call_tool(TOOL, {"entrypoint": "workflow.fabro", "files": SEED_FILES}))
        text = refused(await client.call_tool("fabro_run_get", {"run_id": "workflow"}))
        assert "run_not_found" in text
        assert await create(client, str(version_id["workflow_version_id"]), start=False)
