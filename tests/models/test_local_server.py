"""The process that serves the local model has an owner that ends it, in every way an owner can end."""

import sys
from pathlib import Path

import anyio
import psutil
import pytest
from anyio.lowlevel import checkpoint
from anyio.streams.buffered import BufferedByteReceiveStream

from fabro.models.local import weights_path
from fabro.models.local_server import LocalServer
from fabro.models.port import ModelError, ModelErrorKind

pytestmark = pytest.mark.anyio
OWNER = """
import anyio
from fabro.models.local import weights_path
from fabro.models.local_server import LocalServer

async def main():
    server = LocalServer(weights_path())
    async with server.in_use() as socket:
        print(server.pid, socket.parent, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


async def test_a_process_that_does_not_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not weights")
    server = LocalServer(broken, parent=parent)
    with pytest.raises(ModelError, match="did not start") as caught:
        async with server.in_use():
            raise AssertionError
    assert caught.value.kind is ModelErrorKind.SERVER
    assert server.pid is None
    assert entries(parent) == []
    await server.aclose()


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.05])
async def test_starting_can_be_cancelled_and_leaves_nothing(seconds: float, tmp_path: Path) -> None:
    server = LocalServer(weights(), parent=tmp_path)
    with anyio.move_on_after(seconds) as scope:
        async with server.in_use():
            raise AssertionError
    assert scope.cancelled_caught
    assert server.pid is None
    assert entries(tmp_path) == []


async def test_closing_what_never_started_is_nothing() -> None:
    server = LocalServer(weights())
    await server.aclose()
    await server.aclose()


@pytest.mark.slow
async def test_users_share_one_process_and_closing_ends_it() -> None:
    server = LocalServer(weights())
    async with server.in_use() as first, server.in_use() as second:
        assert first == second
        pid = server.pid
        assert pid is not None
        assert psutil.Process(pid).is_running()
    await server.aclose()
    assert not psutil.pid_exists(pid)
    assert not first.parent.exists()


@pytest.mark.slow
async def test_an_idle_process_ends_and_the_next_use_starts_another() -> None:
    server = LocalServer(weights(), idle_seconds=0.1)
    async with server.in_use() as first:
        pid = server.pid
        assert pid is not None
    with anyio.fail_after(10):
        while server.pid is not None:
            await checkpoint()
    async with server.in_use() as second:
        assert not first.parent.exists()
        assert second.exists()
        assert server.pid not in (None, pid)
    await server.aclose()


@pytest.mark.slow
async def test_the_process_ends_when_its_owner_is_killed() -> None:
    async with await anyio.open_process([sys.executable, "-c", OWNER]) as owner:
        assert owner.stdout is not None
        line = await BufferedByteReceiveStream(owner.stdout).receive_until(b"\n", 1_000)
        pid, folder = line.decode().split()
        assert psutil.pid_exists(int(pid))
        owner.kill()
    await ended(int(pid))
    assert not await anyio.Path(folder).exists()


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def weights() -> Path:
    path = weights_path()
    assert path is not None
    return path


async def ended(pid: int) -> None:
    """Wait until a process is gone, ten seconds at most."""
    try:
        await anyio.to_thread.run_sync(psutil.Process(pid).wait, 10)
    except psutil.NoSuchProcess:
        return
