"""The keeper: what it ends, what it leaves alone, and what becomes of the commands when it dies itself."""

import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import anyio
import psutil
import pytest
from anyio.lowlevel import checkpoint

from fabro.clock import SystemClock
from fabro.ids import RunId, new_run_id
from fabro.run.target import FolderTarget
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.local import LocalProvider, LocalSandbox
from fabro.sandbox.port import CommandRequest
from tests.sandbox.commands import PATIENCE_SECONDS, SCRIPTS, Lifeline

pytestmark = pytest.mark.anyio


@pytest.fixture
def own() -> Keeper:
    """A keeper for one test, which closes it."""
    return Keeper(new_run_id(SystemClock().now()))


@pytest.fixture
async def place(own: Keeper, run_id: RunId, tmp_path: Path) -> LocalSandbox:
    provider = LocalProvider(tmp_path / "runs", own, environment=os.environ)
    return await provider.prepare(run_id, FolderTarget(path=str(tmp_path)))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Lifeline]:
    line = Lifeline(tmp_path)
    yield line
    line.close()


def request(script: str) -> CommandRequest:
    return CommandRequest(argv=("sh", "-c", script), timeout=timedelta(minutes=1))


BARE = "exec 9>lifeline; exec env -i sh -c 'echo ready >&9; exec /bin/sleep 9999'"
"""Can be found by its group only, as everything on systems without /proc."""
TRUE = request("true")


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while not condition():
            await checkpoint()


def process_of(keeper: Keeper) -> psutil.Process:
    return psutil.Process(keeper.pid)


def ignores(process: psutil.Process, *numbers: signal.Signals) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    mask = int(status.split("SigIgn:")[1].split()[0], 16)
    return all(mask >> (number - 1) & 1 for number in numbers)


async def test_closing_ends_every_command(own: Keeper, place: LocalSandbox, line: Lifeline) -> None:
    scripts = [*SCRIPTS.values(), BARE]
    await place.run(TRUE)
    process = process_of(own)
    async with anyio.create_task_group() as group:
        for script in scripts:
            group.start_soon(place.run, request(script))
        await line.ready(times=len(scripts))
        await own.aclose()
        await line.broken(within=1)
    assert not process.is_running()
    await own.aclose()


async def test_closing_leaves_the_processes_of_others_alone(
    own: Keeper, keeper: Keeper, place: LocalSandbox, tmp_path: Path, run_id: RunId, line: Lifeline
) -> None:
    await place.run(request("true"))
    other = await LocalProvider(tmp_path / "runs", keeper, environment=os.environ).prepare(
        run_id, FolderTarget(path=str(tmp_path))
    )
    async with anyio.create_task_group() as group:
        group.start_soon(other.run, request("exec 9>lifeline; echo ready >&9; read x; echo $x >&9"))
        await line.ready()
        await own.aclose()
        group.cancel_scope.cancel()
    await line.broken()


async def test_a_keeper_that_died_is_replaced_and_told_everything(
    own: Keeper, place: LocalSandbox, line: Lifeline
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(place.run, request(BARE))
        await line.ready()
        first = process_of(own)
        first.kill()
        await until(lambda: first.status() == psutil.STATUS_ZOMBIE)
        await place.run(TRUE)
        assert not first.is_running()
        assert own.pid != first.pid
        await own.aclose()
        await line.broken(within=1)


async def test_a_keeper_that_does_not_listen_is_replaced(own: Keeper, place: LocalSandbox) -> None:
    await place.run(TRUE)
    first = process_of(own)
    first.suspend()
    for _ in range(20_000):
        own.end(1 << 22)  # no process has such a number
    assert (await place.run(TRUE)).exit_code == 0
    assert own.pid != first.pid
    await own.aclose()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process ignores is told by /proc")
async def test_the_keeper_is_deaf_to_what_ends_whole_trees(own: Keeper, place: LocalSandbox) -> None:
    await place.run(TRUE)
    process = process_of(own)
    await until(lambda: ignores(process, signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    assert os.getsid(process.pid) == process.pid
    await own.aclose()


async def test_the_keeper_is_small_and_knows_no_secret(own: Keeper, place: LocalSandbox) -> None:
    await place.run(TRUE)
    process = process_of(own)
    assert set(process.environ()) <= {"LC_CTYPE"}
    assert process.memory_info().rss < 20 * 1024 * 1024
    await own.aclose()


@pytest.mark.parametrize("owner", ["", "a b", "a/b", "a\0"])
async def test_an_owner_is_one_plain_word(owner: str) -> None:
    with pytest.raises(ValueError, match="owner"):
        Keeper(owner)
