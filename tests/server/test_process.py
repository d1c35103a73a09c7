"""A server's life: when it ends by itself."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import anyio
import pytest

from fabro.assembly import System
from fabro.calls import RunIntent
from fabro.run.question import Text
from fabro.run.target import NoTarget
from fabro.server.backend import Service
from fabro.server.process import LOOK_SECONDS, stop_when_idle
from fabro.testing.fake_clock import FakeClock
from fabro.testing.memory_server import service_over
from fabro.testing.memory_system import memory_system
from tests.workflows import GATE, version

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

IDLE = timedelta(minutes=2).total_seconds()


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def system(clock: FakeClock) -> AsyncIterator[System]:
    async with memory_system(clock=clock) as system:
        yield system


async def stops_at(service: Service, clock: FakeClock, *, meanwhile: Callable[[], None] | None = None) -> float:
    """When the service stopped on its own; `meanwhile` happens each minute."""
    began = clock.monotonic()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(stop_when_idle, service, IDLE)
            while not service.stopping.is_set() and clock.monotonic() - began < 3 * IDLE:
                await clock.advance(LOOK_SECONDS)
                if meanwhile is not None and clock.monotonic() - began < IDLE:
                    meanwhile()
            group.cancel_scope.cancel()
    return clock.monotonic() - began


async def test_a_server_that_nobody_needs_ends(system: System, clock: FakeClock) -> None:
    service = service_over(system)
    assert await stops_at(service, clock) == IDLE
    assert service.stopping.is_set()


async def test_requests_keep_it_alive(system: System, clock: FakeClock) -> None:
    service = service_over(system)

    def ask() -> None:
        service.last_request = clock.monotonic()

    assert 2 * IDLE - LOOK_SECONDS <= await stops_at(service, clock, meanwhile=ask) <= 2 * IDLE + LOOK_SECONDS


async def test_a_request_that_lasts_keeps_it_alive(system: System, clock: FakeClock) -> None:
    service = service_over(system)
    service.busy = 1
    await stops_at(service, clock)
    assert not service.stopping.is_set()


async def test_an_unfinished_run_keeps_it_alive(system: System, clock: FakeClock) -> None:
    operations = system.operations(None)
    version_id = await operations.versions.create(version(GATE))
    run = await operations.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    service = service_over(system)
    await operations.runs.start(run.id)
    await operations.runs.wait([run.id], until="blocked", timeout_seconds=10)
    assert await system.unfinished_runs() == 1
    await stops_at(service, clock)
    assert not service.stopping.is_set()
    await operations.questions.answer(run.id, "gate@1", Text(text="y"))
    await operations.runs.wait([run.id], until="terminal", timeout_seconds=10)
    assert await stops_at(service, clock) <= IDLE + LOOK_SECONDS


async def test_a_storage_that_fails_is_no_idleness(system: System, clock: FakeClock) -> None:
    await system.parts.store.close()
    service = service_over(system)
    await stops_at(service, clock)
    assert not service.stopping.is_set()
