"""Creating runs over MCP."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabro.calls import RunCalls, RunIntent
from fabro.errors import Conflict, Unavailable
from fabro.ids import RunId
from fabro.mcp_server.server import Serving
from fabro.operations.calls import Operations
from fabro.projections.run_view import RunView
from tests.mcp_server.conversation import (
    ERAS,
    Era,
    client_of,
    create,
    lazily,
    objects,
    refused,
    register,
    serving,
    structured,
    text_of,
)

pytestmark = pytest.mark.anyio
TOOL = "fabro_run_create"
PLAIN = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"
VERSION = "a" * 64
NONE = {"kind": "none"}


@pytest.mark.parametrize("era", ERAS)
async def test_runs_are_created_and_started(era: Era, operations: Operations) -> None:
    async with client_of(serving(operations), era) as client:
        version_id = await register(client, PLAIN)
        item = {"workflow_version_id": version_id.upper(), "target": NONE}
        result = await client.call_tool(TOOL, {"runs": [item, {**item, "start": False}]})
    first, second = objects(structured(result)["runs"])
    assert set(first) == {
        "run_id", "parent_id", "children_count", "workflow_version_id", "start_requested", "status"
    }  # fmt: skip
    assert (first["start_requested"], first["workflow_version_id"]) == (True, version_id)
    assert (second["start_requested"], second["status"], second["parent_id"]) == (False, "submitted", None)
    assert text_of(result).startswith("Created 2 Fabro run(s), start requested for 1")
    assert (await operations.runs.get(RunId(str(second["run_id"])))).lifecycle.status.kind == "submitted"


async def test_everything_that_is_said_of_a_run_arrives(operations: Operations, tmp_path: Path) -> None:
    async with client_of(serving(operations)) as client:
        version_id = await register(client, PLAIN)
        parent = await create(client, version_id, start=False)
        run_id = await create(
            client,
            version_id,
            target={"kind": "folder", "path": str(tmp_path)},
            environment_id="local",
            parent_id=parent,
            title="A title",
            goal="{{ not a template }}",
            args={
                "inputs": '{"a": 1, "b": true, "c": "x"}',
                "labels": {"l": "v"},
                "dry_run": True,
                "auto_approve": False,
            },
            start=None,
        )
    state = await operations.runs.state(RunId(run_id))
    assert dict(state.inputs) == {"a": 1, "b": True, "c": "x"}
    run = state.run
    assert (run.title, run.goal, dict(run.labels)) == ("A title", "{{ not a template }}", {"l": "v"})
    assert (run.parent_id, run.dry_run, run.source_directory) == (parent, True, str(tmp_path))


def item(**changes: object) -> Mapping[str, object]:
    return {"runs": [{"workflow_version_id": VERSION, "target": NONE, **changes}]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"runs": []}, "`runs` has 0 items; wanted at least 1"),
        (
            {"runs": [{"workflow_version_id": VERSION, "target": NONE}] * 51},
            "`runs` has 51 items; wanted at most 50",
        ),
        ({"runs": ["nightly"]}, '`runs[0]` is the string "nightly"'),
        ({"runs": [{"workflow": "nightly"}]}, "no field `runs[0].workflow`; use `runs[0].workflow_version_id`"),
        (item(target=None), "`runs[0].target` is missing"),
        (item(target=None, parent_id="01ARZ3NDEKTSV4RRFFQ69G5FAV"), "`runs[0].target` is missing"),
        (item(target={"kind": "git", "repo": "a/b", "branch": "main"}), "git is not available in this version"),
        (item(target={"kind": "folder"}), "`runs[0].target.path` is missing"),
        (item(target={"kind": "folder", "path": "here"}), "wanted an absolute path"),
        (item(target={"kind": "folder", "path": "/", "branch": "x"}), "`runs[0].target.branch` does not go with"),
        (item(target={"kind": "none", "path": "/"}), "`runs[0].target.path` does not go with kind none"),
        (item(target={"kind": "cloud"}), "wanted one of 'none', 'folder' or 'git'"),
        (item(workflow_version_id="nightly"), "wanted 64 hexadecimal characters"),
        (item(parent_id="nightly"), "wanted a whole run id"),
        (item(environment="local"), "use `runs[0].environment_id`"),
        (item(goal_file="goal.md"), "use `runs[0].goal`"),
        (item(cwd="/"), "use `runs[0].target`"),
        (item(inputs={}), "use `runs[0].args.inputs`"),
        (item(args={"inputs": {"k": None}}), "`runs[0].args.inputs.k` cannot be null"),
        (item(args={"inputs": {"k": [1]}}), "`runs[0].args.inputs.k` does not support the list [1]"),
        (item(args={"labels": {"k": 1}}), "`runs[0].args.labels.k` is the number 1; wanted a string"),
        (item(args={"dryrun": True}), "use `runs[0].args.dry_run`"),
    ],
)
async def test_refusals_need_no_server(arguments: Mapping[str, object], said: str) -> None:
    def unreachable() -> Any:
        raise AssertionError("a connection was opened")

    async with client_of(lazily(unreachable)) as client:
        assert said in refused(await client.call_tool(TOOL, dict(arguments)))


async def test_an_item_that_breaks_a_rule_stops_the_batch_before_anything_is_created(
    operations: Operations,
) -> None:
    async with client_of(serving(operations)) as client:
        good = {"workflow_version_id": await register(client, PLAIN), "target": NONE}
        text = refused(await client.call_tool(TOOL, {"runs": [good, {**good, "target": {"kind": "git"}}]}))
        assert "runs[1]" in text
        assert "already created" not in text
        assert "run_not_found" in refused(await client.call_tool("fabro_run_get", {"run_id": "workflow"}))


async def test_a_batch_stops_at_the_first_failure_and_says_what_exists(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        good = {"workflow_version_id": await register(client, PLAIN), "target": NONE, "start": False}
        bad = {**good, "target": {"kind": "folder", "path": "/does/not/exist"}}
        text = refused(await client.call_tool(TOOL, {"runs": [good, good, bad, good]}))
        created = re.findall(r"[0-9A-Z]{26}", text)
        assert len(created) == 2
        assert "runs[2] was not created" in text
        assert "inspect these runs with fabro_run_get before you try again" in text
        assert text.endswith("[target_invalid]")
        for run_id in created:
            assert (await operations.runs.get(RunId(run_id))).lifecycle.status.kind == "submitted"


async def test_an_unknown_version_is_named(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        text = refused(await client.call_tool(TOOL, dict(item())))
    assert f"runs[0] was not created: workflow version {VERSION} not found" in text
    assert "fabro_workflow_version_create" in text
    assert text.endswith("[workflow_version_not_found]")


class Unstartable:
    """Runs that can be created, while the server goes away at each start."""

    def __init__(self, runs: RunCalls) -> None:
        self._runs = runs

    async def create(self, intent: RunIntent) -> RunView:
        return await self._runs.create(intent)

    async def start(self, run_id: RunId) -> RunView:
        raise Unavailable(f"no answer about {run_id}", hint="Is it up?")


@dataclass
class Parts:
    versions: object
    runs: object


def parts(operations: Operations, runs: object) -> Serving:
    """The tools over a system whose runs are others."""

    @asynccontextmanager
    async def open_calls() -> AsyncGenerator[Any]:
        yield Parts(versions=operations.versions, runs=runs)

    return lazily(open_calls)


class Refusing(Unstartable):
    """Runs that can be created, and no start is allowed."""

    async def start(self, run_id: RunId) -> RunView:
        raise Conflict(f"{run_id} can't start")


class Forgetful(Unstartable):
    """Runs that are created and started, while the second answer of each kind is lost."""

    def __init__(self, runs: RunCalls) -> None:
        super().__init__(runs)
        self.created: list[RunId] = []

    async def create(self, intent: RunIntent) -> RunView:
        run = await super().create(intent)
        self.created.append(run.id)
        if len(self.created) > 1:
            raise Unavailable("the server can't be reached", code="server_unreachable", hint="Is it up?")
        return run


async def test_a_run_whose_creation_got_no_answer_may_exist(operations: Operations) -> None:
    runs = Forgetful(operations.runs)
    async with client_of(parts(operations, runs)) as client:
        good = {"workflow_version_id": await register(client, PLAIN), "target": NONE, "start": False}
        text = refused(await client.call_tool(TOOL, {"runs": [good, good, good]}))
        assert f"runs[1] may have been created; already created run IDs: {runs.created[0]}: " in text
        assert "was not created" not in text
        assert "`fabro ps --all` lists all runs" in text
        assert "leave out those that exist. Is it up?) [server_unreachable]" in text
        assert len(runs.created) == 2, "the batch stops there"
        alone = refused(await client.call_tool(TOOL, {"runs": [good]}))
        assert alone.startswith("runs[0] may have been created: the server can't be reached (It is not known")
        assert "already created" not in alone


async def test_a_run_whose_start_was_refused_is_in_the_error(operations: Operations) -> None:
    async with client_of(parts(operations, Refusing(operations.runs))) as client:
        good = {"workflow_version_id": await register(client, PLAIN), "target": NONE}
        text = refused(await client.call_tool(TOOL, {"runs": [good, good]}))
        (run_id,) = set(re.findall(r"[0-9A-Z]{26}", text))
        assert f"runs[0] was created as {run_id} and its start failed; already created run IDs: {run_id}:" in text
        assert "It is not known" not in text


async def test_a_run_whose_start_got_no_answer_is_in_the_error(operations: Operations) -> None:
    async with client_of(parts(operations, Unstartable(operations.runs))) as client:
        good = {"workflow_version_id": await register(client, PLAIN), "target": NONE}
        text = refused(await client.call_tool(TOOL, {"runs": [good, good]}))
        (run_id,) = set(re.findall(r"[0-9A-Z]{26}", text))
        assert (
            f"runs[0] was created as {run_id} and may have been started; already created run IDs: {run_id}:" in text
        )
        assert "fabro_run_events shows whether the run was started" in text
        assert "Is it up?" in text
        assert (await operations.runs.get(RunId(run_id))).lifecycle.status.kind == "submitted"
