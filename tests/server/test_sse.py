"""Event streams: their frames, where they begin and end, and readers that are slow or gone (reference A-07)."""

import json
import socket
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from anyio.abc import SocketStream

from fabro.assembly import System
from fabro.calls import RunIntent
from fabro.ids import NodeId, RunId, StageId
from fabro.projections.envelope import EventEnvelope
from fabro.run.events import RunNotice
from fabro.run.question import Text
from fabro.run.target import NoTarget
from fabro.server.backend import Service
from fabro.server.sse import frame
from fabro.testing.memory_server import service_over, serving
from fabro.testing.memory_system import memory_system
from tests.conditions import until
from tests.workflows import DONE, GATE, version

pytestmark = pytest.mark.anyio

ODD = "a\rb\nc\n\nd\u2028e\x85f\u2029data: x\nevent: y\x00\U0001f600"


@pytest.fixture
async def system() -> AsyncIterator[System]:
    async with memory_system() as system:
        yield system


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder) / "s"


@asynccontextmanager
async def client_of(service: Service, place: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with serving(service, place) as target:
        transport = httpx.AsyncHTTPTransport(uds=str(place))
        async with httpx.AsyncClient(transport=transport, base_url=target.url, timeout=10) as http:
            yield http


async def start(system: System, source: str) -> RunId:
    operations = system.operations(None)
    version_id = await operations.versions.create(version(source))
    run = await operations.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    await operations.runs.start(run.id)
    await operations.runs.wait([run.id], until="blocked", timeout_seconds=10)
    return run.id


def attach(run_id: RunId) -> str:
    return f"/api/v1/runs/{run_id}/attach"


async def read(response: httpx.Response) -> list[str]:
    """The lines of a stream to its end."""
    return [line async for line in response.aiter_lines()]


def ids(lines: list[str]) -> list[int]:
    return [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]


def test_a_frame_is_three_lines_whatever_the_event_holds() -> None:
    envelope = EventEnvelope(
        seq=7,
        id="r-7",
        ts="2026-01-01T00:00:00.000Z",
        run_id=RunId("r"),
        event="x\nevent: forged",
        node_id=NodeId(ODD),
        stage_id=StageId(f"{ODD}@1"),
        properties={"text": ODD, ODD: [ODD]},
    )
    written = frame(envelope).decode()
    assert len(written.splitlines()) == 4
    first, second, third, empty = written.splitlines()
    assert (first, second, empty) == ("id: 7", "event: unnamed", "")
    assert json.loads(third.removeprefix("data: "))["properties"] == {"text": ODD, ODD: [ODD]}


async def test_a_stream_holds_what_was_and_what_comes_and_ends_with_the_run(system: System, place: Path) -> None:
    run_id = await start(system, GATE)
    async with client_of(service_over(system), place) as http, http.stream("GET", attach(run_id)) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert (response.headers["cache-control"], response.headers["x-accel-buffering"]) == ("no-store", "no")
        lines: list[str] = []
        async for line in response.aiter_lines():
            lines.append(line)
            if line == "event: run.blocked":
                await system.operations(None).questions.answer(run_id, "gate@1", Text(text="y"))
    last = (await system.operations(None).runs.get(run_id)).last_seq
    assert ids(lines) == list(range(1, last + 1))
    assert lines[-3:] == ["event: end", f'data: {{"last_seq":{last}}}', ""]


@pytest.mark.parametrize(
    ("query", "header", "first"), [("", None, 1), ("?after=3", None, 4), ("?after=3", "5", 6), ("", "0", 1)]
)
async def test_a_stream_goes_on_behind_the_last_event(
    system: System, place: Path, query: str, header: str | None, first: int
) -> None:
    run_id = await start(system, DONE)
    headers = {"last-event-id": header} if header is not None else {}
    async with client_of(service_over(system), place) as http:
        answer = await http.get(attach(run_id) + query, headers=headers)
    last = (await system.operations(None).runs.get(run_id)).last_seq
    assert ids(answer.text.split("\n")) == list(range(first, last + 1))


async def test_a_stream_behind_the_end_of_an_ended_run_ends(system: System, place: Path) -> None:
    run_id = await start(system, DONE)
    last = (await system.operations(None).runs.get(run_id)).last_seq
    async with client_of(service_over(system), place) as http:
        answer = await http.get(attach(run_id), headers={"last-event-id": str(last)})
    assert answer.text == f'event: end\ndata: {{"last_seq":{last}}}\n\n'


@pytest.mark.parametrize(
    ("query", "header", "code"),
    [
        *(("", header, "invalid_event_id") for header in ("x", "-1", "1.5", "99", "9" * 40, "\u0661", "1 2")),
        *((f"?after={after}", None, code) for after, code in (("x", "invalid_query"), ("-1", "invalid_query"))),
        ("?after=99", None, "invalid_event_id"),
    ],
)
async def test_places_that_are_none_are_refused(
    system: System, place: Path, query: str, header: str | None, code: str
) -> None:
    run_id = await start(system, GATE)
    headers = {b"last-event-id": header.encode()} if header is not None else {}
    async with client_of(service_over(system), place) as http:
        answer = await http.get(attach(run_id) + query, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, code)


async def test_a_silent_stream_shows_that_it_lives(system: System, place: Path) -> None:
    run_id = await start(system, GATE)
    service = service_over(system, heartbeat_seconds=0.02)
    async with client_of(service, place) as http, http.stream("GET", attach(run_id)) as response:
        beats = 0
        async for line in response.aiter_lines():
            beats += line.startswith(":")
            if beats == 3:
                break


async def test_a_stream_ends_when_the_server_stops(system: System, place: Path) -> None:
    run_id = await start(system, GATE)
    service = service_over(system)
    with anyio.fail_after(5):
        async with client_of(service, place) as http, http.stream("GET", attach(run_id)) as response:
            lines: list[str] = []
            async for line in response.aiter_lines():
                lines.append(line)
                if line == "event: run.blocked":
                    service.stopping.set()
    assert "event: end" not in lines


async def connect(place: Path) -> SocketStream:
    return await anyio.connect_unix(place)


async def ask(stream: SocketStream, path: str) -> None:
    await stream.send(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    assert (await stream.receive()).startswith(b"HTTP/1.1 200")


async def test_nothing_is_kept_of_readers_that_vanish(system: System, place: Path) -> None:
    run_id = await start(system, GATE)
    service = service_over(system)

    async with client_of(service, place) as http:
        await http.get("/health")
        before = len(anyio.get_running_tasks())

        async def all_gone() -> bool:
            return service.busy == 0 and len(anyio.get_running_tasks()) <= before

        for _ in range(50):
            stream = await connect(place)
            await ask(stream, attach(run_id))
            await stream.aclose()
        await until(all_gone)


async def test_a_reader_that_does_not_read_blocks_nobody(system: System, place: Path) -> None:
    run_id = await start(system, GATE)
    store = system.parts.store
    async with client_of(service_over(system), place) as http:
        stuck = await connect(place)
        stuck.extra(anyio.abc.SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await ask(stuck, attach(run_id))
        for _ in range(300):
            seq = (await store.get(run_id)).last_seq
            notice = RunNotice(level="info", code="large", message="x" * 100_000)
            await store.append(run_id, [notice], expected_seq=seq)
        await system.operations(None).questions.answer(run_id, "gate@1", Text(text="y"))
        waited = await system.operations(None).runs.wait([run_id], until="terminal", timeout_seconds=10)
        assert not waited.timed_out
        assert (await http.get("/health")).status_code == 200
        answer = await http.get(attach(run_id))
        assert ids(answer.text.split("\n")) == list(range(1, waited.runs[0].last_seq + 1))
        await stuck.aclose()
