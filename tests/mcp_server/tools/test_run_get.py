"""Looking at a run over MCP."""

from typing import Any, cast

import pytest

from fabro.ids import RunId
from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    ASKING,
    ERAS,
    Era,
    client_of,
    create,
    objects,
    refused,
    register,
    serving,
    structured,
    text_of,
)

pytestmark = pytest.mark.anyio
TOOL = "fabro_run_get"
FAILING = (
    "digraph F { start [shape=Mdiamond] exit [shape=Msquare] "
    'work [shape=parallelogram goal_gate=true script="exit 3"] '
    "start -> work -> exit }"
)


@pytest.mark.parametrize("era", ERAS)
async def test_a_run_that_waits_is_shown_from_near_and_far(era: Era, operations: Operations) -> None:
    async with client_of(serving(operations), era) as client:
        run_id = await create(client, await register(client, ASKING), goal="Ship.", args={"labels": {"a": "b"}})
        await client.call_tool("fabro_run_gather", {"run_ids": [run_id], "until": "blocked"})
        result = await client.call_tool(TOOL, {"run_id": f" {run_id[:20]} "})
    found = cast("Any", structured(result))
    assert set(found) == {"run_id", "summary", "projection", "questions"}
    assert found["run_id"] == found["summary"]["run_id"] == run_id
    summary = found["summary"]
    assert (summary["status"], summary["status_reason"], summary["goal"]) == (
        "blocked",
        "human_input_required",
        "Ship.",
    )
    assert (summary["labels"], summary["parent_id"], summary["completed_at"]) == ({"a": "b"}, None, None)
    assert found["projection"]["stages"]["ask@1"]["state"] == "waiting"
    assert found["projection"]["pending_interviews"]["ask@1"]["text"] == "Ship it?"
    (question,) = found["questions"]
    assert (question["id"], question["question_type"]) == ("ask@1", "multiple_choice")
    assert "1 question(s) waiting" in text_of(result)


async def test_a_failed_run_says_why(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, FAILING))
        gathered = structured(await client.call_tool("fabro_run_gather", {"run_ids": [run_id]}))
        found = cast("Any", structured(await client.call_tool(TOOL, {"run_id": run_id})))
    assert objects(gathered["runs"])[0] == found["summary"]
    assert (found["summary"]["status"], found["summary"]["status_reason"]) == ("failed", "workflow_error")
    assert found["summary"]["error"]
    stage = found["projection"]["stages"]["work@1"]
    assert (stage["state"], stage["script_invocation"]["script"]) == ("failed", "exit 3")
    assert stage["failure"]["message"]
    assert found["projection"]["conclusion"]["failure"] == found["summary"]["error"]


async def test_looking_changes_nothing(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, ASKING), start=False)
        before = (await operations.runs.get(RunId(run_id))).last_seq
        for _ in range(3):
            structured(await client.call_tool(TOOL, {"run_id": run_id}))
        assert (await operations.runs.get(RunId(run_id))).last_seq == before


async def test_selectors(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        version_id = await register(client, ASKING)
        first, second = [await create(client, version_id, start=False) for _ in range(2)]
        assert structured(await client.call_tool(TOOL, {"run_id": "asking"}))["run_id"] == second
        text = refused(await client.call_tool(TOOL, {"run_id": first[:4]}))
        assert first in text
        assert second in text
        assert text.endswith("[run_selector_ambiguous]")
        assert refused(await client.call_tool(TOOL, {"run_id": " "})).endswith("[run_selector_empty]")
        missing = "0" * 26
        assert refused(await client.call_tool(TOOL, {"run_id": missing})).endswith("[run_not_found]")
        assert "`run_id` is missing" in refused(await client.call_tool(TOOL, {}))
