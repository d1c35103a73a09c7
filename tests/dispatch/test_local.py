"""Runs that are hard to drive: none of them hangs, is lost, or takes others with it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fabro.assembly import Parts, System, assemble
from fabro.calls import RunIntent
from fabro.clock import Clock
from fabro.errors import InvalidInput, StorageError
from fabro.ids import BlobId, RunId
from fabro.projections.run_view import RunView
from fabro.run import events as e
from fabro.run.ledger import check_log
from fabro.run.status import StatusKind
from fabro.run.target import NoTarget
from fabro.sandbox.port import CommandRequest, CommandResult
from fabro.store.memory import MemoryStore
from fabro.store.memory_blobs import MemoryBlobs
from fabro.testing.fake_clock import FakeClock
from fabro.testing.memory_system import OneModel, register
from fabro.testing.scripted_model import ScriptedModel
from fabro.testing.scripted_sandbox import HANGS, Play, ScriptedProvider, ScriptedSandbox, exited

pytestmark = pytest.mark.anyio

HEAD = "start [shape=Mdiamond] exit [shape=Msquare] node [shape=parallelogram, script=x]"
LINE = "a start -> a -> exit"
GATE = "g [shape=hexagon] start -> g -> exit"


class TroubledStore(MemoryStore):
    """A store that fails as it is told."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.refuses = False
        self.confused_about: RunId | None = None

    async def append(
        self, run_id: RunId, events: Sequence[e.Event], *, expected_seq: int, epoch: int | None = None
    ) -> tuple[e.StoredEvent, ...]:
        if self.refuses and epoch is not None:
            raise StorageError("the disk is full")
        return await super().append(run_id, events, expected_seq=expected_seq, epoch=epoch)

    async def read(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> tuple[e.StoredEvent, ...]:
        if run_id == self.confused_about:
            raise RuntimeError("a fault of the store's own")
        return await super().read(run_id, after=after, limit=limit)


class FullBlobs(MemoryBlobs):
    """A place for blobs that has no room for files."""

    async def put_file(self, path: Path) -> BlobId:
        raise StorageError(f"no room for {path}")


class MeddledSandbox(ScriptedSandbox):
    """A sandbox in which something else happens while a command runs."""

    def __init__(self, script: Sequence[Play]) -> None:
        super().__init__(script)
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def run(self, request: CommandRequest, *, stop: anyio.Event | None = None) -> CommandResult:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().run(request, stop=stop)


class World:
    def __init__(self, script: Sequence[Play] = ()) -> None:
        self.clock = FakeClock()
        self.store = TroubledStore(self.clock)
        self.sandbox = MeddledSandbox(script)
        self.provider = ScriptedProvider(self.sandbox)
        self.parts = Parts(
            store=self.store,
            blobs=FullBlobs(),
            clock=self.clock,
            sandboxes=self.provider,
            models=OneModel(ScriptedModel(["ok"])),
        )

    @asynccontextmanager
    async def system(self, *, places: int = 8) -> AsyncGenerator[System]:
        async with assemble(self.parts, places=places) as system:
            yield system

    async def until(self, system: System, run: RunView, *kinds: StatusKind, step: float = 0) -> RunView:
        """The run once its status is of one of these kinds; meanwhile time goes on by `step` seconds at a turn."""
        with anyio.fail_after(10):
            while run.lifecycle.status.kind not in kinds:
                await (self.clock.advance(step) if step else checkpoint())
                run = await system.operations("t").runs.get(run.id)
        return run

    async def stages(self, run: RunView) -> list[str]:
        log = await self.store.read(run.id)
        check_log(log)
        return [one.event.stage_id for one in log if isinstance(one.event, e.StageStarted)]


async def begin(system: System, body: str) -> RunView:
    calls = system.operations("test")
    version = await register(calls, f"digraph W {{ {HEAD} {body} }}")
    run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
    return await calls.runs.start(run.id)


async def test_what_waits_is_steered_though_every_place_is_taken() -> None:
    world = World([HANGS])
    async with world.system(places=1) as system:
        gated = await world.until(system, await begin(system, GATE), StatusKind.BLOCKED)
        busy = await world.until(system, await begin(system, LINE), StatusKind.RUNNING)
        queued = await world.until(system, await begin(system, LINE), StatusKind.RUNNING)
        runs = system.operations("t").runs
        await runs.cancel(gated.id)
        assert str((await world.until(system, gated, StatusKind.FAILED)).lifecycle.status) == "failed(cancelled)"
        await runs.cancel(queued.id)
        assert str((await world.until(system, queued, StatusKind.FAILED)).lifecycle.status) == "failed(cancelled)"
        assert await world.stages(queued) == ["start@1"]
        await runs.cancel(busy.id)
        await world.until(system, busy, StatusKind.FAILED)


async def test_a_finished_command_is_not_run_again_however_long_the_storage_fails() -> None:
    world = World([exited(), exited()])

    async def fill_the_disk() -> None:
        world.store.refuses = True

    world.sandbox.meanwhile = fill_the_disk
    async with world.system() as system:
        run = await begin(system, LINE)
        with anyio.fail_after(10):
            while not world.sandbox.requests:
                await checkpoint()
        await world.clock.advance(3600)
        world.store.refuses = False
        run = await world.until(system, run, StatusKind.SUCCEEDED, step=10)
    assert len(world.sandbox.requests) == 1
    assert await world.stages(run) == ["start@1", "a@1"]


async def test_no_room_for_the_whole_output_fails_no_command(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_bytes(b"x" * 100)
    world = World([replace(exited("head and tail"), output_bytes=100, spool=spool)])
    async with world.system() as system:
        run = await world.until(system, await begin(system, LINE), StatusKind.SUCCEEDED)
        state = await system.operations("t").runs.state(run.id)
    command = state.stages[-1].command
    assert command is not None
    assert (command.output, command.output_bytes, command.output_blob) == ("head and tail", 100, None)
    assert not spool.exists()


async def test_a_worker_that_lost_its_run_stops_and_does_not_claim_it_back() -> None:
    world = World([exited(), exited()])
    async with world.system() as system:
        run = await begin(system, LINE)
        world.sandbox.meanwhile = lambda: world.store.claim(run.id)
        with anyio.fail_after(10):
            while system.dispatcher.active:
                await checkpoint()
        record = await world.store.get(run.id)
    assert len(world.sandbox.requests) == 1
    assert record.epoch == 2
    assert record.summary.status.kind is StatusKind.RUNNING


async def test_a_run_whose_version_is_gone_ends_and_says_so() -> None:
    world = World()
    async with world.system() as system:
        calls = system.operations("t")
        version = await register(calls, f"digraph W {{ {HEAD} {LINE} }}")
        run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
    await world.store.append(run.id, [e.RunStartRequested(), e.RunRunnable()], expected_seq=2)
    world.parts = replace(world.parts, blobs=MemoryBlobs())
    async with world.system() as system:
        ended = await world.until(system, run, StatusKind.FAILED, step=5)
    assert str(ended.lifecycle.status) == "failed(launch_failed)"
    assert ended.lifecycle.error is not None
    assert "not found" in ended.lifecycle.error.message


async def test_cancelling_needs_no_graph() -> None:
    world = World()
    async with world.system() as system:
        run = await world.until(system, await begin(system, GATE), StatusKind.BLOCKED)
    world.parts = replace(world.parts, blobs=MemoryBlobs())
    async with world.system() as system:
        await system.operations("t").runs.cancel(run.id)
        ended = await world.until(system, run, StatusKind.FAILED)
    assert str(ended.lifecycle.status) == "failed(cancelled)"


async def test_what_a_run_left_running_is_ended_with_it() -> None:
    world = World([exited()])
    async with world.system() as system:
        await world.until(system, await begin(system, LINE), StatusKind.SUCCEEDED)
        with anyio.fail_after(10):
            while system.dispatcher.active:
                await checkpoint()
        gated = await world.until(system, await begin(system, GATE), StatusKind.BLOCKED)
        assert gated.id not in world.provider.released
    assert len(world.provider.released) == 1


async def test_a_fault_with_one_run_leaves_the_others_alone() -> None:
    world = World([exited(), exited()])
    async with world.system() as system:
        calls = system.operations("t")
        version = await register(calls, f"digraph W {{ {HEAD} {LINE} }}")
        bad = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
        world.store.confused_about = bad.id
        await calls.runs.start(bad.id)
        await world.clock.advance(200)
        good = await world.until(system, await begin(system, LINE), StatusKind.SUCCEEDED)
        assert good.lifecycle.error is None
        world.store.confused_about = None
        bad = await world.until(system, bad, StatusKind.SUCCEEDED, StatusKind.FAILED, step=30)
    assert bad.lifecycle.status.kind.is_terminal


async def test_a_run_that_ended_is_not_driven_again_by_an_old_alarm() -> None:
    world = World()
    body = "g [shape=hexagon, timeout=50s] start -> g -> exit"
    async with world.system() as system:
        run = await world.until(system, await begin(system, body), StatusKind.BLOCKED)
        calls = system.operations("t")
        [question] = await calls.questions.list(run.id)
        await calls.runs.cancel(run.id)
        await world.until(system, run, StatusKind.FAILED)
        epoch = (await world.store.get(run.id)).epoch
        await world.clock.advance(100)
        assert (await world.store.get(run.id)).epoch == epoch
        assert question.timeout_seconds == 50


async def test_a_follower_that_asks_beyond_the_end_is_told() -> None:
    world = World()
    async with world.system() as system:
        run = await world.until(system, await begin(system, GATE), StatusKind.BLOCKED)
        with pytest.raises(InvalidInput, match="after is 1000000"):
            await anext(system.operations("t").events.follow(run.id, after=1_000_000))
