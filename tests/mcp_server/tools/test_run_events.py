"""Reading events over MCP. Source: known fault S-17."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from mcp import Client

from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    ERAS,
    Era,
    client_of,
    create,
    lazily,
    refused,
    register,
    serving,
    structured,
    text_of,
)

pytestmark = pytest.mark.anyio
TOOL = "fabro_run_events"
LOOP = (
    "digraph L { start [shape=Mdiamond] exit [shape=Msquare] gate [shape=diamond] "
    'never [shape=parallelogram script="secret_of_the_source"] '
    'start -> gate; gate -> never [condition="context.unset=yes"]; gate -> exit; never -> exit }'
)


async def page(client: Client, run_id: str, action: str = "list", **arguments: object) -> Any:
    return await read(client, {"action": action, "run_id": run_id, **arguments})


async def read(client: Client, arguments: Mapping[str, object]) -> Any:
    return structured(await client.call_tool(TOOL, dict(arguments)))


async def a_run(client: Client, **item: object) -> str:
    run_id = await create(client, await register(client, LOOP), **item)
    await client.call_tool("fabro_run_gather", {"run_ids": [run_id]})
    return run_id


def sequences(found: Any) -> list[int]:
    return [event["sequence"] for event in found["events"]]


@pytest.mark.parametrize("era", ERAS)
async def test_a_list_holds_whole_envelopes_in_order(era: Era, operations: Operations) -> None:
    async with client_of(serving(operations), era) as client:
        run_id = await a_run(client)
        result = await client.call_tool(TOOL, {"action": "list", "run_id": run_id})
    found = cast("Any", structured(result))
    total = len(found["events"])
    assert (found["run_id"], found["action"], found["has_more"]) == (run_id, "list", False)
    assert sequences(found) == list(range(1, total + 1))
    assert found["next_cursor"] == total + 1
    first = found["events"][0]
    assert (first["event"]["event"], first["event"]["seq"], first["truncated"]) == ("run.created", 1, False)
    assert first["event"]["id"] == first["event_id"]
    assert text_of(result) == f"Returned {total} Fabro event(s) of run {run_id}"


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("filters", [{}, {"categories": ["run", "stage"]}])
async def test_pages_join_into_the_whole(
    direction: str, filters: Mapping[str, object], operations: Operations
) -> None:
    async with client_of(serving(operations)) as client:
        wanted = {"action": "list", "run_id": await a_run(client), "direction": direction, **filters}
        whole = await read(client, {**wanted, "first": 200})
        assert whole["has_more"] is False
        found = await read(client, {**wanted, "first": 3})
        joined = sequences(found)
        while found["has_more"]:
            found = await read(client, {**wanted, "first": 3, "after": found["next_cursor"]})
            joined += sequences(found)
        assert joined == sequences(whole)
        end = await read(client, {**wanted, "after": found["next_cursor"]})
        assert (end["events"], end["next_cursor"], end["has_more"]) == ([], None, False)


async def test_cursors_offset_and_limit(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await a_run(client)
        found = await page(client, run_id, after=2, offset=1, limit=2)
        assert (sequences(found), found["next_cursor"]) == ([3, 4], 5)
        found = await page(client, run_id, direction="desc", after=4, limit=9, first=2)
        assert (sequences(found), found["next_cursor"]) == ([3, 2], 2)
        assert sequences(await page(client, run_id, after=0, first=1)) == [1]
        for direction in ("asc", "desc"):
            text = refused(
                await client.call_tool(
                    TOOL, {"action": "list", "run_id": run_id, "after": 999, "direction": direction}
                )
            )
            assert "`after` is 999" in text
            assert text.endswith("[cursor_invalid]")


async def test_filters(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await a_run(client)
        whole = (await page(client, run_id))["events"]
        found = await page(client, run_id, event_types=["run.created", "run.completed"])
        assert [event["event"]["event"] for event in found["events"]] == ["run.created", "run.completed"]
        found = await page(client, run_id, categories='["checkpoint"]')
        assert {event["event"]["event"] for event in found["events"]} == {"checkpoint.completed"}
        assert (await page(client, run_id, created_before="2020-01-01"))["events"] == []
        last = whole[-1]["event"]["ts"]
        assert len((await page(client, run_id, created_after="2020-01-01", created_before=last))["events"]) == len(
            whole
        )
        assert (await page(client, run_id, created_after="2999-01-01T00:00:00+02:00"))["events"] == []


async def test_details_gives_the_events_that_are_named(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await a_run(client)
        whole = (await page(client, run_id))["events"]
        ids = [whole[4]["event_id"], whole[1]["event_id"], "unknown"]
        found = await page(client, run_id, "details", event_ids=ids)
    assert found["events"] == [whole[1], whole[4]]


async def test_search_is_for_text_in_what_happened_and_not_in_the_workflow(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await a_run(client, goal="Find the Ünïque word")
        assert sequences(await page(client, run_id, "search", query="Ünïque")) == [1]
        assert sequences(await page(client, run_id, "search", query="ünïque")) == []
        assert sequences(await page(client, run_id, "search", query='"event":"run.completed"')) != []
        assert sequences(await page(client, run_id, "search", query="secret_of_the_source")) == []
        assert sequences(await page(client, run_id, query="secret_of_the_source")) != [], "list takes no query"


async def test_a_long_event_is_cut_between_characters(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        run_id = await a_run(client, goal="ř" * 1000)
        cuts = [
            (await page(client, run_id, first=1, max_content_length=length))["events"][0] for length in (900, 901)
        ]
        whole = (await page(client, run_id, first=1))["events"][0]
    assert whole["truncated"] is False
    for length, cut in zip((900, 901), cuts, strict=True):
        assert cut["truncated"] is True
        assert length - 1 <= len(cut["event"].encode()) <= length
        assert cut["event"].endswith("ř")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"run_id": "a"}, "`action` is missing"),
        ({"action": "list"}, "`run_id` is missing"),
        ({"action": "list", "run_id": ""}, "`run_id` is blank"),
        ({"action": "watch", "run_id": "a"}, "wanted one of 'list', 'details' or 'search'"),
        ({"action": "list", "run_id": "a", "first": 201}, "`first` is 201; wanted at most 200"),
        ({"action": "list", "run_id": "a", "limit": 201}, "`limit` is 201; wanted at most 200"),
        ({"action": "list", "run_id": "a", "direction": "down"}, "wanted one of 'asc' or 'desc'"),
        ({"action": "details", "run_id": "a"}, "`event_ids` is required for action details"),
        ({"action": "search", "run_id": "a"}, "`query` is required for action search"),
        ({"action": "list", "run_id": "a", "created_after": "soon"}, "wanted RFC 3339"),
        ({"action": "list", "run_id": "a", "after": "bogus"}, "wanted a whole number"),
        ({"action": "list", "run_id": "a", "types": []}, "no field `types`; use `event_types`"),
    ],
)
async def test_refusals_need_no_server(arguments: Mapping[str, object], said: str) -> None:
    def unreachable() -> Any:
        raise AssertionError("a connection was opened")

    async with client_of(lazily(unreachable)) as client:
        assert said in refused(await client.call_tool(TOOL, dict(arguments)))
