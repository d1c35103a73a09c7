"""Calls of the MCP server over stdio beside the SDK's own echo server, in one run: time, CPU, start, memory.

Both are spoken to by the SDK's client. CPU is that of the client and the MCP server together, for one call. `echo`
is the same trivial tool on both sides and shows what the way there and back costs; `fabro_run_get` goes on to a
local Fabro server, whose own CPU stands in a row of its own. The start is measured on raw lines, from the spawn
to the answer to `initialize`; its floor is an interpreter that only imports the SDK.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio
import psutil
from mcp import Client, StdioServerParameters, stdio_client

from report import REPEATS, Row, show, wants_json

WARM_UP, CALLS = 50, 300
COLD_GOAL_MS = 270.0
CALL_GOAL = 1.5
PYTHON = (sys.executable, "-c")
FABRO = "from fabro.cli.main import main; main()"
PEER_ECHO = """
from mcp.server import MCPServer
server = MCPServer("echo")
@server.tool()
async def echo(text: str) -> dict[str, str]:
    return {"text": text}
server.run()
"""
OUR_ECHO = """
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import anyio
from pydantic import BaseModel
from fabro.errors import Unavailable
from fabro.mcp_server.descriptors import claim_standard_streams
from fabro.mcp_server.server import create_server, serve_lazily
from fabro.mcp_server.stdio import serve_stdio
from fabro.mcp_server.tools.arguments import Arguments
from fabro.mcp_server.tools.tool import Answer, Hints, define
class Echo(Arguments):
    text: str
class Echoed(BaseModel):
    text: str
async def echo(session, arguments):
    return Answer(result=Echoed(text=arguments.text), text=arguments.text)
@asynccontextmanager
async def nowhere():
    raise Unavailable("not needed")
    yield
tool = define(
    echo, name="echo", title="Echo", description="Echo.", takes=Echo, gives=Echoed, hints=Hints(reads_only=True)
)
anyio.run(serve_stdio, create_server(serve_lazily(nowhere), [tool]), claim_standard_streams())
"""
WORKFLOW = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


@dataclass(frozen=True, kw_only=True)
class Called:
    """What one call costs in milliseconds: wall time at two ranks, CPU here, CPU of the server behind."""

    p50: float
    p95: float
    cpu: float
    far_cpu: float


@dataclass(frozen=True, kw_only=True)
class Started:
    """What a start costs: milliseconds to the first answer, and memory then."""

    wall: float
    megabytes: float


def cpu_seconds(pids: list[int]) -> float:
    used = (psutil.Process(pid).cpu_times() for pid in pids)
    return sum(times.user + times.system for times in used)


async def called(
    client: Client, pids: list[int], tool: str, arguments: dict[str, object], far: list[int]
) -> Called:
    """Many calls, one after the other."""
    for _ in range(WARM_UP):
        assert not (await client.call_tool(tool, arguments)).is_error
    walls: list[float] = []
    cpu, far_cpu = cpu_seconds(pids), cpu_seconds(far)
    for _ in range(CALLS):
        begun = time.perf_counter()
        await client.call_tool(tool, arguments)
        walls.append((time.perf_counter() - begun) * 1000)
    spent, far_spent = cpu_seconds(pids) - cpu, cpu_seconds(far) - far_cpu
    ranks = statistics.quantiles(walls, n=20)
    return Called(
        p50=statistics.median(walls), p95=ranks[18], cpu=spent / CALLS * 1000, far_cpu=far_spent / CALLS * 1000
    )


@contextlib.asynccontextmanager
async def connection(
    program: str, environment: Mapping[str, str], *arguments: str
) -> AsyncGenerator[tuple[Client, list[int]]]:
    """The client, and the ids of its own and its server's process."""
    before = set(psutil.Process().children())
    parameters = StdioServerParameters(
        command=PYTHON[0], args=[PYTHON[1], program, *arguments], env=dict(environment)
    )
    async with Client(stdio_client(parameters), mode="legacy") as client:
        (server,) = set(psutil.Process().children()) - before
        yield client, [os.getpid(), server.pid]


async def echoed(program: str, environment: Mapping[str, str]) -> Called:
    async with connection(program, environment) as (client, pids):
        return await called(client, pids, "echo", {"text": "hello"}, [])


async def looked_at(environment: Mapping[str, str]) -> Called:
    """`fabro_run_get` of a short run on a local server."""
    async with connection(FABRO, environment, "mcp", "start") as (client, pids):
        run_id = await a_run(client)
        (far,) = [
            one.pid for one in psutil.process_iter() if is_server_of(one, environment) and one.pid not in pids
        ]
        return await called(client, pids, "fabro_run_get", {"run_id": run_id}, [far])


async def a_run(client: Client) -> str:
    files = {"entrypoint": "w", "files": {"w": WORKFLOW}}
    version = await client.call_tool("fabro_workflow_version_create", files)
    item = {**cast("dict[str, object]", version.structured_content), "target": {"kind": "none"}}
    created = await client.call_tool("fabro_run_create", {"runs": [item]})
    run_id = cast("dict[str, list[dict[str, str]]]", created.structured_content)["runs"][0]["run_id"]
    await client.call_tool("fabro_run_gather", {"run_ids": [run_id]})
    return run_id


def is_server_of(process: psutil.Process, environment: Mapping[str, str]) -> bool:
    try:
        return process.environ().get("FABRO_HOME") == environment["FABRO_HOME"]
    except psutil.Error:
        return False


def started(program: str, environment: Mapping[str, str], *arguments: str) -> Started:
    """A start, to the answer to `initialize`."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [*PYTHON, program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        wall = (time.perf_counter() - begun) * 1000
        megabytes = psutil.Process(process.pid).memory_info().rss / 1e6
        process.stdin.close()
    return Started(wall=wall, megabytes=megabytes)


def imported(environment: Mapping[str, str]) -> float:
    """Milliseconds until an interpreter has imported the SDK."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [*PYTHON, "import mcp; print(flush=True)"], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return (time.perf_counter() - begun) * 1000


def call_rows(environment: Mapping[str, str]) -> list[Row]:
    """Calls, the sides taking turns."""
    sides: dict[str, list[Called]] = {"peer": [], "echo": [], "fabro_run_get": []}
    for _ in range(REPEATS):
        sides["peer"].append(anyio.run(echoed, PEER_ECHO, environment))
        sides["echo"].append(anyio.run(echoed, OUR_ECHO, environment))
        sides["fabro_run_get"].append(anyio.run(looked_at, environment))
    middle = {name: middle_of(measured) for name, measured in sides.items()}
    peer = middle.pop("peer")
    rows: list[Row] = []
    for name, ours in middle.items():
        goal, met = f"at most {CALL_GOAL} x peer", ours.cpu <= CALL_GOAL * peer.cpu
        what = f"{name}: CPU of client and server"
        rows.append(Row(name=what, unit="ms", ours=ours.cpu, peer=peer.cpu, goal=goal, met=met))
        rows.append(Row(name=f"{name}: wall p50", unit="ms", ours=ours.p50, peer=peer.p50))
        rows.append(Row(name=f"{name}: wall p95", unit="ms", ours=ours.p95, peer=peer.p95))
    far = middle["fabro_run_get"].far_cpu
    return [*rows, Row(name="fabro_run_get: CPU of the Fabro server", unit="ms", ours=far)]


def middle_of(measured: list[Called]) -> Called:
    """Each figure's median."""
    return Called(
        p50=statistics.median(one.p50 for one in measured),
        p95=statistics.median(one.p95 for one in measured),
        cpu=statistics.median(one.cpu for one in measured),
        far_cpu=statistics.median(one.far_cpu for one in measured),
    )


def start_rows(environment: Mapping[str, str]) -> list[Row]:
    """Starts, the sides taking turns."""
    peer: list[Started] = []
    ours: list[Started] = []
    floor: list[float] = []
    for _ in range(REPEATS):
        floor.append(imported(environment))
        peer.append(started(PEER_ECHO, environment))
        ours.append(started(FABRO, environment, "mcp", "start"))
    wall = statistics.median(one.wall for one in ours)
    return [
        Row(
            name="start to the initialize answer",
            unit="ms",
            ours=wall,
            peer=statistics.median(one.wall for one in peer),
            floor=statistics.median(floor),
            goal=f"at most {COLD_GOAL_MS:.0f} ms",
            met=wall <= COLD_GOAL_MS,
        ),
        Row(
            name="memory after it",
            unit="MB",
            ours=statistics.median(one.megabytes for one in ours),
            peer=statistics.median(one.megabytes for one in peer),
        ),
    ]


def main() -> None:
    title = "MCP over stdio beside the SDK's echo server"
    as_json = wants_json(title)
    with tempfile.TemporaryDirectory(prefix="fabro-", dir="/tmp") as home:
        environment = {**os.environ, "HOME": home, "FABRO_HOME": str(Path(home, ".fabro"))}
        try:
            rows = [*start_rows(environment), *call_rows(environment)]
        finally:
            subprocess.run([*PYTHON, FABRO, "server", "stop"], env=environment, check=False, capture_output=True)
    show(title, rows, as_json=as_json)


if __name__ == "__main__":
    main()
