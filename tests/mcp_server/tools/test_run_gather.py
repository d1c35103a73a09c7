"""Waiting for runs over MCP. Source: known fault S-07."""

from collections.abc import Mapping
from typing import Any, cast

import anyio
import pytest
from mcp_types import CallToolResult

from fabro.ids import RunId
from fabro.mcp_server.tools.tool import Pace
from fabro.operations.calls import Operations
from fabro.run.question import Selected
from tests.mcp_server.conversation import (
    ASKING,
    ERAS,
    PATIENCE_SECONDS,
    Era,
    Object,
    call,
    client_of,
    create,
    lazily,
    objects,
    peer_of,
    refused,
    register,
    request,
    serving,
    structured,
    text_of,
)

pytestmark = pytest.mark.anyio
TOOL = "fabro_run_gather"
PLAIN = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"
QUICK = Pace(report=0.02, unreported=0.1)


async def answer_when_asked(operations: Operations, run_id: str) -> None:
    await operations.runs.wait([RunId(run_id)], until="blocked", timeout_seconds=PATIENCE_SECONDS)
    (question,) = await operations.questions.list(RunId(run_id))
    await operations.questions.answer(RunId(run_id), question.id, Selected(option_key="Y"))


@pytest.mark.parametrize("era", ERAS)
async def test_it_waits_for_the_end_of_every_run(era: Era, operations: Operations) -> None:
    async with client_of(serving(operations), era) as client:
        ended = await create(client, await register(client, PLAIN))
        asking = await create(client, await register(client, ASKING))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_when_asked, operations, asking)
            result = await client.call_tool(TOOL, {"run_ids": [asking, ended, asking]})
            check_all_succeeded(result, [asking, ended, asking])


def check_all_succeeded(result: CallToolResult, run_ids: list[str]) -> None:
    gathered = structured(result)
    assert [run["run_id"] for run in objects(gathered["runs"])] == run_ids
    assert {run["status"] for run in objects(gathered["runs"])} == {"succeeded"}
    assert gathered["timed_out"] is False
    assert cast("float", gathered["elapsed_seconds"]) < PATIENCE_SECONDS
    assert "timed_out=false: 3 succeeded" in text_of(result)


async def test_when_the_time_is_up_the_state_comes_and_no_error(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, PLAIN), start=False)
        gathered = structured(await client.call_tool(TOOL, {"run_ids": [run_id], "timeout_seconds": 0}))
        assert gathered["timed_out"] is True
        assert objects(gathered["runs"])[0]["status"] == "submitted"


async def test_until_blocked_comes_back_with_the_question(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, ASKING))
        gathered = structured(await client.call_tool(TOOL, {"run_ids": [run_id], "until": "blocked"}))
    assert gathered["timed_out"] is False
    (run,) = objects(gathered["runs"])
    assert (run["status"], run["status_reason"], run["open_questions"]) == (
        "blocked",
        "human_input_required",
        ["ask@1"],
    )


async def test_without_a_progress_token_it_comes_back_early_and_silent(operations: Operations) -> None:
    async with peer_of(serving(operations, QUICK)) as peer:
        async with client_of(serving(operations)) as client:
            run_id = await create(client, await register(client, ASKING))
        await peer.greet()
        await peer.send(call(1, TOOL, {"run_ids": [run_id], "timeout_seconds": 300}))
        message = await peer.receive()
    assert message["id"] == 1
    assert cast("Any", message["result"])["structuredContent"]["timed_out"] is True


@pytest.mark.parametrize("token", ["p1", 0])
async def test_with_a_progress_token_it_reports_and_goes_on(token: object, operations: Operations) -> None:
    async with peer_of(serving(operations, QUICK)) as peer:
        async with client_of(serving(operations)) as client:
            run_id = await create(client, await register(client, ASKING))
        await peer.greet()
        await peer.send(call(1, TOOL, {"run_ids": [run_id], "timeout_seconds": 300}, token))
        reports = [cast("Any", await peer.receive()) for _ in range(8)]
        assert {report["method"] for report in reports} == {"notifications/progress"}
        assert {report["params"]["progressToken"] for report in reports} == {token}
        progress = [report["params"]["progress"] for report in reports]
        assert progress == sorted(set(progress))
        assert progress[-1] > QUICK.unreported, "it went on longer than a call without a token"
        assert reports[0]["params"]["total"] == 300
        assert "1 blocked" in reports[-1]["params"]["message"]
        await answer_when_asked(operations, run_id)
        answer = await peer.answer_to(1)
        assert cast("Any", answer["result"])["structuredContent"]["timed_out"] is False
        await peer.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert (await peer.receive())["id"] == 2, "nothing comes after the answer"


async def test_a_client_without_a_handshake_gets_progress_too(operations: Operations) -> None:
    envelope: Object = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 0,
    }
    async with peer_of(serving(operations, QUICK)) as peer:
        async with client_of(serving(operations)) as client:
            run_id = await create(client, await register(client, ASKING))
        params: Object = {"name": TOOL, "arguments": {"run_ids": [run_id]}, "_meta": envelope}
        await peer.send(request(1, "tools/call", params))
        for _ in range(8):
            assert cast("Any", await peer.receive())["params"]["progressToken"] == 0
        await answer_when_asked(operations, run_id)
        answer = cast("Any", await peer.answer_to(1))["result"]
        assert (answer["resultType"], answer["structuredContent"]["timed_out"]) == ("complete", False)


async def test_cancelling_ends_the_wait_and_not_the_run(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        async with client_of(serving(operations)) as client:
            run_id = await create(client, await register(client, ASKING))
        await peer.greet()
        cancel: Object = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        await peer.send(call(1, TOOL, {"run_ids": [run_id]}), cancel, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert (await peer.receive())["id"] == 2
    run = await operations.runs.get(RunId(run_id))
    assert not run.lifecycle.status.kind.is_terminal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"run_ids": []}, "`run_ids` has 0 items; wanted at least 1"),
        ({"run_ids": ["a"] * 51}, "`run_ids` has 51 items; wanted at most 50"),
        ({"run_ids": ["a"], "timeout_seconds": 601}, "`timeout_seconds` is 601; wanted at most 600"),
        ({"run_ids": ["a"], "timeout_seconds": -1}, "`timeout_seconds` is -1; wanted at least 0"),
        ({"run_ids": ["a"], "poll_interval_seconds": 4}, "`poll_interval_seconds` is 4; wanted at least 5"),
        ({"run_ids": ["a"], "until": "merged"}, "wanted one of 'terminal' or 'blocked'"),
        ({"run_ids": ["a", " "]}, "`run_ids[1]` is blank"),
        ({"run_id": "a"}, "no field `run_id`; use `run_ids`"),
    ],
)
async def test_refusals_need_no_server(arguments: Mapping[str, object], said: str) -> None:
    def unreachable() -> Any:
        raise AssertionError("a connection was opened")

    async with client_of(lazily(unreachable)) as client:
        assert said in refused(await client.call_tool(TOOL, dict(arguments)))


async def test_one_selector_that_means_no_run_fails_the_call(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, PLAIN))
        text = refused(await client.call_tool(TOOL, {"run_ids": [run_id, "nightly"]}))
    assert "nightly" in text
    assert text.endswith("[run_not_found]")


async def test_goals_are_cut_where_runs_stand_together(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, PLAIN), goal="g" * 30_000)
        (run,) = objects(structured(await client.call_tool(TOOL, {"run_ids": [run_id]}))["runs"])
    assert (len(cast("str", run["goal"])), run["goal_truncated"]) == (2_000, True)
