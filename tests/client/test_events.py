"""Following a run while its server goes away and comes back: no event is missed, none comes twice."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from fabro.assembly import System
from fabro.calls import RunIntent
from fabro.client.calls import HttpCalls, calls_over
from fabro.client.http import open_http
from fabro.client.patience import ENDURED_SECONDS
from fabro.client.target import UNIX_URL, ServerTarget
from fabro.clock import SystemClock
from fabro.errors import Unavailable
from fabro.ids import RunId
from fabro.run.events import RunNotice
from fabro.run.question import Text
from fabro.run.target import NoTarget
from fabro.server.backend import Service
from fabro.testing.fake_clock import FakeClock
from fabro.testing.memory_server import service_over, serving
from fabro.testing.memory_system import memory_system
from tests.workflows import GATE, version

pytestmark = pytest.mark.anyio

RESTARTS = 5


@pytest.fixture
async def system() -> AsyncIterator[System]:
    async with memory_system() as system:
        yield system


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder) / "s"


@pytest.fixture
async def calls(place: Path) -> AsyncIterator[HttpCalls]:
    target = ServerTarget(url=UNIX_URL, socket=place)
    async with open_http(target, client_name="test") as http:
        yield calls_over(http, SystemClock())


async def blocked(system: System) -> RunId:
    operations = system.operations(None)
    version_id = await operations.versions.create(version(GATE))
    run = await operations.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    await operations.runs.start(run.id)
    await operations.runs.wait([run.id], until="blocked", timeout_seconds=10)
    return run.id


class Restarted:
    """A server that is stopped again and again; each time a run's log grows while it is away."""

    def __init__(self, system: System, place: Path, run_id: RunId) -> None:
        self._system = system
        self._place = place
        self._run_id = run_id
        self.service: Service = service_over(system)

    async def run(self) -> None:
        for number in range(RESTARTS):
            self.service = service_over(self._system)
            async with serving(self.service, self._place):
                await self.service.stopping.wait()
            await self._note(number)
        await self._system.operations(None).questions.answer(self._run_id, "gate@1", Text(text="y"))
        self.service = service_over(self._system)
        async with serving(self.service, self._place):
            await self.service.stopping.wait()

    async def _note(self, number: int) -> None:
        store = self._system.parts.store
        seq = (await store.get(self._run_id)).last_seq
        await store.append(self._run_id, [RunNotice(level="info", code="n", message=str(number))], expected_seq=seq)


async def test_a_follower_outlives_restarts(system: System, place: Path, calls: HttpCalls) -> None:
    run_id = await blocked(system)
    restarted = Restarted(system, place, run_id)
    seen: list[int] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(restarted.run)
            async with aclosing(calls.events.follow(run_id)) as stream:
                async for event in stream:
                    seen.append(event.seq)
                    last_note = event.properties.get("message") == str(RESTARTS - 1)
                    if event.event in ("run.blocked", "run.notice") and not last_note:
                        restarted.service.stopping.set()
            restarted.service.stopping.set()
    last = (await system.operations(None).runs.get(run_id)).last_seq
    assert seen == list(range(1, last + 1))


async def test_a_wait_outlives_a_restart(system: System, place: Path, calls: HttpCalls) -> None:
    run_id = await blocked(system)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def restart() -> None:
                service = service_over(system)
                async with serving(service, place):
                    while not service.busy:
                        await anyio.lowlevel.checkpoint()
                await system.operations(None).questions.answer(run_id, "gate@1", Text(text="y"))
                service = service_over(system)
                async with serving(service, place):
                    await ended.wait()

            ended = anyio.Event()
            group.start_soon(restart)
            waited = await calls.runs.wait([run_id], until="terminal", timeout_seconds=15)
            ended.set()
            assert (waited.timed_out, str(waited.runs[0].lifecycle.status)) == (False, "succeeded(completed)")


async def test_a_server_that_stays_away_is_given_up(place: Path) -> None:
    clock = FakeClock(auto_advance=True)
    async with open_http(ServerTarget(url=UNIX_URL, socket=place), client_name="test") as http:
        calls = calls_over(http, clock)
        with pytest.raises(Unavailable) as caught:
            await anext(calls.events.follow(RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV")))
        assert caught.value.code == "server_unreachable"
        assert ENDURED_SECONDS <= clock.monotonic() < 2 * ENDURED_SECONDS
        with pytest.raises(Unavailable):
            await calls.runs.wait([RunId("x")], until="terminal", timeout_seconds=1)
