"""The tools as a server. Source: reference/mcp-server.md §0, known faults S-08, S-10, S-15."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import jsonschema
import pytest
from mcp import Client, MCPError
from mcp_types import ErrorData

from fabro import installed_version
from fabro.errors import Unavailable
from fabro.json_value import JsonObject
from fabro.mcp_server.backend import OpenBackend
from fabro.mcp_server.server import Serving, create_server
from fabro.mcp_server.tools.arguments import Arguments
from fabro.mcp_server.tools.catalogue import TOOLS
from fabro.mcp_server.tools.run_get import RunGetResult
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define
from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    ERAS,
    HELLO,
    HELLO_DONE,
    Era,
    call,
    client_of,
    error_of,
    lazily,
    peer_of,
    refused,
    request,
    serving,
)

pytestmark = pytest.mark.anyio
NAMES = [
    "fabro_run_create",
    "fabro_run_events",
    "fabro_run_gather",
    "fabro_run_get",
    "fabro_workflow_version_create",
]


@asynccontextmanager
async def no_server() -> AsyncGenerator[Any]:
    raise Unavailable("there is no server at /tmp/x.sock", hint="Start one with `fabro server start`.")
    yield


@pytest.mark.parametrize("era", ERAS)
async def test_tools_are_listed_by_name_without_a_server(era: Era) -> None:
    async with client_of(lazily(no_server), era) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == NAMES == [tool.name for tool in TOOLS]
        for shown, tool in zip(listed, TOOLS, strict=True):
            assert (shown.title, shown.description) == (tool.title, tool.description)
            assert shown.input_schema == tool.input_schema
            assert shown.output_schema == tool.output_schema


async def test_the_server_says_who_it_is() -> None:
    async with client_of(lazily(no_server)) as client:
        info = client.server_info
        assert info is not None
        assert (info.name, info.title, info.version) == ("fabro", "Fabro", installed_version())
        assert client.instructions is not None
        assert "fabro_run_create" in client.instructions


async def test_hints_tell_looking_from_doing() -> None:
    async with client_of(lazily(no_server)) as client:
        listed = (await client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in listed}
    for name in ("fabro_run_events", "fabro_run_gather", "fabro_run_get"):
        found = hints[name]
        assert found is not None
        assert (found.read_only_hint, found.destructive_hint, found.open_world_hint) == (True, False, False)
    created, registered = hints["fabro_run_create"], hints["fabro_workflow_version_create"]
    assert created is not None
    assert registered is not None
    assert (created.read_only_hint, created.destructive_hint, created.idempotent_hint) == (False, True, False)
    assert (registered.read_only_hint, registered.destructive_hint, registered.idempotent_hint) == (
        False,
        False,
        True,
    )


async def test_a_failed_call_is_an_error_with_advice_and_code_and_the_next_call_tries_again() -> None:
    async with client_of(lazily(no_server)) as client:
        for _ in range(2):
            text = refused(await client.call_tool("fabro_run_get", {"run_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}))
            assert text == (
                "there is no server at /tmp/x.sock (Start one with `fabro server start`.) [unavailable]"
            )
        assert len((await client.list_tools()).tools) == len(TOOLS)


class Nothing(Arguments):
    """No arguments."""


async def test_an_unexpected_error_is_told_without_its_details(
    operations: Operations, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(session: Session, arguments: Nothing) -> Answer:
        del session, arguments
        raise RuntimeError("the password is hunter2")

    tool = define(
        fail, name="t", title="T", description="d", takes=Nothing, gives=RunGetResult, hints=Hints(reads_only=True)
    )
    async with Client(create_server(serving(operations), [tool]), mode="legacy") as client:
        text = refused(await client.call_tool("t", {}))
    assert text.endswith("[internal_error]")
    assert "hunter2" not in text
    assert "hunter2" in caplog.text


async def test_an_unknown_tool_and_an_unknown_page_are_protocol_errors(operations: Operations) -> None:
    async with client_of(serving(operations)) as client:
        with pytest.raises(MCPError, match="unknown tool 'nope'"):
            await client.call_tool("nope", {})
        with pytest.raises(MCPError, match="one page"):
            await client.list_tools(cursor="bogus", cache_mode="bypass")


async def test_a_client_that_keeps_only_types_can_call_every_tool(operations: Operations) -> None:
    """Arguments made from nothing but type, properties and required are understood. Source: known fault S-11."""
    async with client_of(serving(operations)) as client:
        for tool in (await client.list_tools()).tools:
            text = refused(await client.call_tool(tool.name, cast("Any", sample(tool.input_schema))))
            assert "[invalid_arguments]" not in text


def sample(schema: JsonObject) -> object:
    """The smallest value that a schema describes."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "object"}:
            inner = cast("Any", schema.get("properties", {}))
            return {name: sample(inner[name]) for name in cast("list[str]", schema.get("required", []))}
        case {"type": "array"}:
            return [sample(cast("JsonObject", schema["items"]))]
        case {"type": "string"}:
            return "x"
        case _:
            return schema.get("default", schema.get("minimum", 0))


async def test_error_results_leave_clients_that_validate_alone(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send(call(1, "fabro_run_get", {"run_id": "nope"}))
        result = cast("Any", await peer.answer_to(1))["result"]
        assert result["isError"] is True
        assert "structuredContent" not in result


async def test_results_fit_their_schemas_nulls_included(operations: Operations) -> None:
    source = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        schemas = {tool.name: tool.output_schema for tool in TOOLS}

        async def result_of(number: int, name: str, arguments: Mapping[str, object]) -> Any:
            await peer.send(call(number, name, arguments))
            result = cast("Any", await peer.answer_to(number))["result"]["structuredContent"]
            jsonschema.validate(result, schemas[name])
            return result

        files = {"entrypoint": "w", "files": {"w": source}}
        version_id = (await result_of(1, "fabro_workflow_version_create", files))["workflow_version_id"]
        item = {"workflow_version_id": version_id, "target": {"kind": "none"}, "start": False}
        created = await result_of(2, "fabro_run_create", {"runs": [item]})
        run_id = created["runs"][0]["run_id"]
        assert created["runs"][0]["parent_id"] is None
        found = await result_of(3, "fabro_run_get", {"run_id": run_id})
        assert found["summary"]["completed_at"] is None
        await result_of(4, "fabro_run_gather", {"run_ids": [run_id], "timeout_seconds": 0})
        events = {"action": "list", "run_id": run_id, "max_content_length": 10}
        assert (await result_of(5, "fabro_run_events", events))["events"][0]["truncated"] is True


async def test_requests_that_come_too_early_are_told_so(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.send(request(1, "ping"), request(2, "tools/list"))
        assert (await peer.receive())["result"] == {}
        code, message = error_of(await peer.receive())
        assert code == -32600
        assert "not initialized" in message
        await peer.send(HELLO, request(3, "tools/list"), HELLO_DONE)
        assert (await peer.receive())["id"] == "hello"
        assert "result" in await peer.answer_to(3), "a request right behind initialize is served"


async def test_a_second_handshake_is_refused_and_the_session_goes_on(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send({**HELLO, "id": 2}, request(3, "ping"))
        assert "initialized already" in error_of(await peer.answer_to(2))[1]
        assert (await peer.answer_to(3))["result"] == {}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ],
)
async def test_versions_of_the_protocol(asked: str, given: str, operations: Operations) -> None:
    params = {**cast("dict[str, object]", HELLO["params"]), "protocolVersion": asked}
    async with peer_of(serving(operations)) as peer:
        await peer.send({**HELLO, "params": params})
        assert cast("Any", await peer.receive())["result"]["protocolVersion"] == given


async def test_bad_parameters_are_named(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send(
            request(1, "tools/call", {"name": "fabro_run_get", "arguments": []}), request(2, "nope/nope")
        )
        code, message = error_of(await peer.answer_to(1))
        assert code == -32602
        assert "arguments" in message
        assert error_of(await peer.answer_to(2))[0] == -32601


async def test_middleware_leaves_other_errors_as_they_are(operations: Operations) -> None:
    @asynccontextmanager
    async def backend() -> AsyncGenerator[OpenBackend]:
        yield OpenBackend(operations)

    async with peer_of(Serving(lifespan=backend)) as peer:
        await peer.greet()
        await peer.send(call(1, "nope", {}))
        found = cast("Any", await peer.answer_to(1))["error"]
        assert ErrorData.model_validate(found).message == "unknown tool 'nope'; tools/list names the tools"
