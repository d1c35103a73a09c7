"""The whole way: the SDK's client, `fabro mcp start` as a process, a server that it starts, runs that execute."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.mcp_server.conversation import (
    ASKING,
    COMMAND,
    PATIENCE_SECONDS,
    SEED_FILES,
    Era,
    create,
    refused,
    register,
    structured,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LOOKING = (
    "digraph Looking { start [shape=Mdiamond] exit [shape=Msquare] "
    'look [shape=parallelogram script="ls -A; echo seen; touch trace"] start -> look -> exit }'
)
HOLDING = (
    "digraph Holding { start [shape=Mdiamond] exit [shape=Msquare] start -> hold -> exit "
    'hold [shape=parallelogram script="while [ ! -e go ]; do sleep 0.05; done; echo released"] }'
)


@asynccontextmanager
async def command_client(environment: Mapping[str, str], era: Era) -> AsyncGenerator[Client]:
    """The SDK's client with `fabro mcp start` behind it."""
    parameters = StdioServerParameters(command=COMMAND[0], args=list[str](COMMAND[1:]), env=dict(environment))
    with errors_of(environment) as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=era) as client:
            yield client


def errors_of(environment: Mapping[str, str]) -> TextIO:
    """Where the command's standard error goes."""
    return Path(environment["HOME"], "mcp-errors.log").open("w", encoding="utf-8")


async def read(client: Client, tool: str, **arguments: object) -> Any:
    return structured(await client.call_tool(tool, arguments))


async def events(client: Client, run_id: str) -> list[dict[str, Any]]:
    return (await read(client, "fabro_run_events", action="list", run_id=run_id, first=200))["events"]


@pytest.mark.requirement(
    "versions.input.shape",
    "versions.input.example",
    "versions.create.returns-id",
    "versions.create.immutable",
    "versions.create.no-run",
    "versions.entrypoint.exact-key",
    "runs.get.questions",
)
async def test_workflows_are_registered_and_questions_shown(fabro_home: Mapping[str, str]) -> None:
    tool = "fabro_workflow_version_create"
    async with command_client(fabro_home, "2026-07-28") as client:
        assert "entrypoint `workflow` is not" in refused(
            await client.call_tool(tool, {"entrypoint": "workflow", "files": SEED_FILES})
        )
        first = await read(client, tool, entrypoint="workflow.fabro", files=SEED_FILES)
        again = await read(client, tool, entrypoint="workflow.fabro", files=SEED_FILES)
        changed = {**SEED_FILES, "prompt.md": "Review it twice."}
        other = await read(client, tool, entrypoint="workflow.fabro", files=changed)
        assert list(first) == ["workflow_version_id"]
        assert first == again != other
        assert "[run_not_found]" in refused(await client.call_tool("fabro_run_get", {"run_id": "workflow"}))
        run_id = await create(client, await register(client, ASKING))
        gathered = await read(client, "fabro_run_gather", run_ids=[run_id], until="blocked")
        assert gathered["runs"][0]["status"] == "blocked"
        (question,) = (await read(client, "fabro_run_get", run_id=run_id))["questions"]
        assert (question["text"], [option["key"] for option in question["options"]]) == ("Ship it?", ["Y", "N"])


@pytest.mark.requirement(
    "runs.create.one-or-more",
    "runs.create.starts-by-default",
    "runs.create.start-false",
    "runs.create.persists-submitted",
    "runs.create.reuse-version",
    "runs.create.version-and-target",
    "runs.target.none",
)
async def test_runs_are_created_and_started(fabro_home: Mapping[str, str]) -> None:
    async with command_client(fabro_home, "legacy") as client:
        item = {"workflow_version_id": await register(client, LOOKING), "target": {"kind": "none"}}
        created = (await read(client, "fabro_run_create", runs=[item, item, {**item, "start": False}]))["runs"]
        first, second, waiting = [one["run_id"] for one in created]
        assert [one["start_requested"] for one in created] == [True, True, False]
        await read(client, "fabro_run_gather", run_ids=[first, second])
        folders: set[str] = set()
        for run_id in (first, second):
            projection = (await read(client, "fabro_run_get", run_id=run_id))["projection"]
            assert projection["stages"]["look@1"]["output"].strip() == "seen", "the workspace was empty"
            folders.add(projection["start"]["working_directory"])
        assert len(folders) == 2
        names = [one["event"]["event"] for one in await events(client, first)]
        assert names[:3] == ["run.created", "run.submitted", "run.start_requested"]
        names = [one["event"]["event"] for one in await events(client, waiting)]
        assert names == ["run.created", "run.submitted"]
        await anyio.run_process([*COMMAND[:-2], "server", "stop"], env=fabro_home)
        summary = (await read(client, "fabro_run_get", run_id=waiting))["summary"]
        assert summary["status"] == "submitted", "it is stored"
        await anyio.run_process([*COMMAND[:-2], "start", waiting], env=fabro_home)
        gathered = await read(client, "fabro_run_gather", run_ids=[waiting])
        assert gathered["runs"][0]["status"] == "succeeded"


@pytest.mark.requirement(
    "runs.gather.waits-terminal",
    "runs.gather.timeout-state",
    "runs.get.summary",
    "runs.get.projection",
    "runs.get.read-only",
    "runs.events.list",
    "runs.events.inspect",
    "runs.events.search",
)
async def test_runs_are_watched(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    async with command_client(fabro_home, "2026-07-28") as client:
        target = {"kind": "folder", "path": str(tmp_path)}
        run_id = await create(client, await register(client, HOLDING), target=target, goal="Hold on to Ünïque.")
        timed_out = await read(client, "fabro_run_gather", run_ids=[run_id], timeout_seconds=1)
        assert timed_out["timed_out"] is True
        assert timed_out["runs"][0]["status"] not in ("succeeded", "failed", "dead")
        before = await events(client, run_id)
        found = await read(client, "fabro_run_get", run_id=run_id)
        assert (found["summary"]["goal"], found["questions"]) == ("Hold on to Ünïque.", [])
        assert found["projection"]["stages"]["hold@1"]["state"] == "running"
        assert await events(client, run_id) == before, "looking changes nothing"
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(release_soon, client, run_id, tmp_path / "go")
                gathered = await read(client, "fabro_run_gather", run_ids=[run_id])
                assert (gathered["timed_out"], gathered["runs"][0]["status"]) == (False, "succeeded")
        whole = await events(client, run_id)
        assert [one["sequence"] for one in whole] == list(range(1, len(whole) + 1))
        assert whole[-1]["event"]["event"] == "run.completed"
        ids = [whole[2]["event_id"]]
        inspected = await read(client, "fabro_run_events", action="details", run_id=run_id, event_ids=ids)
        assert inspected["events"] == [whole[2]]
        searched = await read(client, "fabro_run_events", action="search", run_id=run_id, query="released\\n")
        assert {one["event"]["event"] for one in searched["events"]} == {"command.completed"}
        errors = await anyio.Path(fabro_home["HOME"], "mcp-errors.log").read_text()
    assert errors == ""


async def release_soon(client: Client, run_id: str, file: Path) -> None:
    """Let the run go on once the wait for it is under way."""
    await client.call_tool("fabro_run_get", {"run_id": run_id})
    await anyio.Path(file).touch()
