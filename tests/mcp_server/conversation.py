"""Both ends of a conversation: the SDK's client in this process, and raw lines over pipes."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, cast

import anyio
import anyio.to_thread
from mcp import Client
from mcp_types import CallToolResult, TextContent

from fabro.calls import Calls
from fabro.mcp_server import stdio
from fabro.mcp_server.backend import OpenBackend, OpenCalls
from fabro.mcp_server.descriptors import Wire
from fabro.mcp_server.lines import LineSplitter
from fabro.mcp_server.pipes import read_some
from fabro.mcp_server.server import Serving, create_server, serve_lazily
from fabro.mcp_server.tools.tool import Pace
from fabro.operations.calls import Operations
from fabro.workflow.package import package_supplied
from fabro.workflow.version import Version

Era = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")
Object = dict[str, object]
PATIENCE_SECONDS = 20.0
COMMAND = (sys.executable, "-c", "from fabro.cli.main import main; main()", "mcp", "start")
HELLO: Object = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HELLO_DONE: Object = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SEED_FILES = {
    "workflow.fabro": 'digraph W { start [shape=Mdiamond] work [prompt="@prompt.md"] exit [shape=Msquare] '
    "start -> work -> exit }",
    "prompt.md": "Review the implementation.",
}
"""The example of the seed document."""
ASKING = (
    'digraph Asking { start [shape=Mdiamond] ask [shape=hexagon label="Ship it?"] exit [shape=Msquare] '
    'start -> ask; ask -> exit [label="[Y] Yes"]; ask -> exit [label="[N] No"] }'
)
"""A workflow that waits for an answer."""


def request(request_id: object, method: str, params: Mapping[str, object] | None = None) -> Object:
    """A JSON-RPC request."""
    message: Object = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def call(request_id: object, tool: str, arguments: Mapping[str, object], token: object = None) -> Object:
    """A request that calls a tool."""
    params: Object = {"name": tool, "arguments": arguments}
    return request(
        request_id, "tools/call", params if token is None else {**params, "_meta": {"progressToken": token}}
    )


def line(message: object) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


def lines(*messages: object) -> bytes:
    """Messages as lines, one after the other."""
    return b"".join(line(message) for message in messages)


def parsed(output: bytes) -> list[Object]:
    """All lines of an output, each of which must be a JSON-RPC message."""
    assert output == b"" or output.endswith(b"\n")
    messages = [cast("Object", json.loads(one)) for one in output.split(b"\n")[:-1]]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    return messages


def by_id(messages: Iterable[Object]) -> dict[object, Object]:
    """Answers by id, each of which must be there once."""
    answers = [message for message in messages if "method" not in message and message["id"] is not None]
    found = {message["id"]: message for message in answers}
    assert len(found) == len(answers)
    return found


def error_of(message: Object) -> tuple[int, str]:
    """Code and text of an error response."""
    error = cast("Object", message["error"])
    return cast("int", error["code"]), cast("str", error["message"])


def text_of(result: CallToolResult) -> str:
    """The one text of a tool's result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def refused(result: CallToolResult) -> str:
    """The text of a tool error, which holds nothing else."""
    assert result.is_error
    assert result.structured_content is None
    text = text_of(result)
    assert "Traceback" not in text
    return text


def structured(result: CallToolResult) -> Object:
    """The result for programs; beside it stands one line for people."""
    assert not result.is_error, text_of(result)
    text = text_of(result)
    assert "\n" not in text
    assert not text.startswith(("{", "["))
    return cast("Object", result.structured_content)


def objects(value: object) -> list[Object]:
    """A list of objects."""
    return cast("list[Object]", value)


def package(entrypoint: str, files: Mapping[str, str]) -> tuple[Version, ...]:
    """Versions of supplied files."""
    found = package_supplied(entrypoint, files)
    refusal = found.refusal()
    if refusal is not None:
        raise refusal
    return found.versions


def serving(calls: Calls, pace: Pace | None = None) -> Serving:
    """The tools over calls that are there already."""

    @asynccontextmanager
    async def backend() -> AsyncGenerator[OpenBackend]:
        yield OpenBackend(calls)

    return Serving(lifespan=backend, packager=package, pace=pace or Pace())


@asynccontextmanager
async def client_of(served: Serving, era: Era = "legacy") -> AsyncGenerator[Client]:
    """The SDK's client, connected to the tools in memory."""
    async with Client(create_server(served), mode=era) as client:
        yield client


async def register(client: Client, source: str, **files: str) -> str:
    """Register a workflow; its version's id."""
    arguments = {"entrypoint": "workflow.fabro", "files": {"workflow.fabro": source, **files}}
    result = await client.call_tool("fabro_workflow_version_create", arguments)
    return cast("str", structured(result)["workflow_version_id"])


async def create(client: Client, version_id: str, **item: object) -> str:
    """Create a run in an empty workspace; its id."""
    run = {"workflow_version_id": version_id, "target": {"kind": "none"}, **item}
    result = await client.call_tool("fabro_run_create", {"runs": [run]})
    return cast("str", objects(structured(result)["runs"])[0]["run_id"])


def write_all(fd: int, content: bytes) -> None:
    """Write everything, waiting for the reader."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


@dataclass(kw_only=True)
class Peer:
    """The client's end of two pipes."""

    read: int
    write: int
    splitter: LineSplitter = field(default_factory=LineSplitter)
    received: list[bytes] = field(default_factory=list[bytes])

    async def send(self, *messages: object) -> None:
        """Send messages as lines."""
        await self.send_bytes(lines(*messages))

    async def send_bytes(self, content: bytes) -> None:
        """Send bytes as they are, however long the server takes for them."""
        await anyio.to_thread.run_sync(write_all, self.write, content)

    async def receive(self) -> Object:
        """The next message."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while not self.received:
                content = await read_some(self.read)
                assert content, "the server closed its output"
                self.received.extend(one for one in self.splitter.feed(content) if isinstance(one, bytes))
        return parsed(self.received.pop(0) + b"\n")[0]

    async def answer_to(self, request_id: object) -> Object:
        """The next answer with this id; what comes before it is dropped."""
        while True:
            message = await self.receive()
            if message.get("id") == request_id and "method" not in message:
                return message

    async def greet(self) -> None:
        """Do the handshake."""
        await self.send(HELLO, HELLO_DONE)
        assert (await self.receive())["id"] == "hello"

    def end(self) -> None:
        """End the server's input."""
        os.close(self.write)
        self.write = -1


@asynccontextmanager
async def peer_of(served: Serving, *, patience: float = stdio.SECONDS_TO_ANSWER) -> AsyncGenerator[Peer]:
    """A server of the tools on pipes in this process; it must end by itself when its input does."""
    to_server, from_server = os.pipe(), os.pipe()
    wire = Wire(read=to_server[0], write=from_server[1])
    peer = Peer(read=from_server[0], write=to_server[1])
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stdio.serve_stdio, create_server(served), wire, served.ending, patience)
            yield peer
            if peer.write >= 0:
                peer.end()
    finally:
        for fd in (wire.read, wire.write, peer.read):
            os.close(fd)


def lazily(open_calls: OpenCalls) -> Serving:
    """The tools, connecting at the first call."""
    return serve_lazily(open_calls, packager=package)


async def a_waiting_run(operations: Operations) -> str:
    """The id of a run that waits for an answer."""
    async with client_of(serving(operations)) as client:
        run_id = await create(client, await register(client, ASKING))
        await client.call_tool("fabro_run_gather", {"run_ids": [run_id], "until": "blocked"})
    return run_id


def gather(request_id: object, run_id: str) -> Object:
    """A request that waits for a run and takes progress."""
    return call(request_id, "fabro_run_gather", {"run_ids": [run_id]}, token="t")


def run_command(
    environment: Mapping[str, str], given: bytes, *, arguments: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Serve one client whose whole input is known beforehand."""
    return subprocess.run(
        [*COMMAND, *arguments], input=given, env=environment, capture_output=True, timeout=60, check=False
    )
