"""Waits on a real socket: they hold nothing up, and end with their client or with the server."""

import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from fabro.assembly import System
from fabro.calls import RunIntent
from fabro.run.target import NoTarget
from fabro.server.backend import Service
from fabro.testing.memory_server import service_over, serving
from fabro.testing.memory_system import memory_system
from tests.conditions import until
from tests.workflows import GATE, version

pytestmark = pytest.mark.anyio

WAITERS = 50


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
        transport = httpx.AsyncHTTPTransport(uds=str(place), limits=httpx.Limits(max_connections=200))
        async with httpx.AsyncClient(transport=transport, base_url=target.url, timeout=30) as http:
            yield http


async def blocked(system: System) -> str:
    operations = system.operations(None)
    version_id = await operations.versions.create(version(GATE))
    run = await operations.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    await operations.runs.start(run.id)
    await operations.runs.wait([run.id], until="blocked", timeout_seconds=10)
    return run.id


async def wait(http: httpx.AsyncClient, run_id: str) -> httpx.Response:
    return await http.post("/api/v1/runs/wait", json={"run_ids": [run_id], "timeout_seconds": 600})


async def test_a_wait_ends_with_its_client(system: System, place: Path) -> None:
    service, run_id = service_over(system), await blocked(system)

    async def waits() -> bool:
        return service.busy == 1

    async def nobody_waits() -> bool:
        return service.busy == 0

    async with client_of(service, place) as http:
        async with anyio.create_task_group() as group:
            group.start_soon(wait, http, run_id)
            await until(waits)
            group.cancel_scope.cancel()
        await until(nobody_waits)
        assert (await http.get("/health")).status_code == 200


async def test_a_wait_ends_when_the_server_stops(system: System, place: Path) -> None:
    service, run_id = service_over(system), await blocked(system)
    answers: list[httpx.Response] = []

    async def ask(http: httpx.AsyncClient) -> None:
        answers.append(await wait(http, run_id))

    async def waits() -> bool:
        return service.busy == 1

    with anyio.fail_after(5):
        async with client_of(service, place) as http, anyio.create_task_group() as group:
            group.start_soon(ask, http)
            await until(waits)
            service.stopping.set()
    assert [(one.status_code, one.json()["errors"][0]["code"]) for one in answers] == [(503, "server_stopping")]


async def test_health_answers_while_many_wait(system: System, place: Path) -> None:
    """Reference S-06: the health check answers within 250 ms whatever else is asked."""
    service, run_id = service_over(system), await blocked(system)
    took: list[float] = []

    async def all_wait() -> bool:
        return service.busy == WAITERS

    async with client_of(service, place) as http:
        async with anyio.create_task_group() as group:
            for _ in range(WAITERS):
                group.start_soon(wait, http, run_id)
            await until(all_wait)
            for _ in range(20):
                began = time.perf_counter()
                assert (await http.get("/health")).json()["unfinished_runs"] == 1
                took.append(time.perf_counter() - began)
            group.cancel_scope.cancel()
        assert sorted(took)[-2] < 0.25


async def test_a_body_that_is_too_large_is_refused_before_it_has_arrived(system: System, place: Path) -> None:
    async with serving(service_over(system), place), await anyio.connect_unix(place) as stream:
        head = "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999"
        await stream.send(f"{head}\r\n\r\n{{".encode())
        with anyio.fail_after(5):
            answer = (await stream.receive()).decode()
    assert answer.startswith("HTTP/1.1 413")
    assert "connection: close" in answer.lower()
