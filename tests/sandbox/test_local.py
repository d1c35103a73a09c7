"""What is particular to commands on the server's own machine."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import anyio
import psutil
import pytest

import fabro
from fabro.clock import SystemClock
from fabro.errors import FabroError, InvalidInput
from fabro.ids import RunId, new_run_id
from fabro.run.target import FolderTarget, NoTarget
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.local import LocalProvider, LocalSandbox
from fabro.sandbox.port import CommandRequest, SandboxError
from tests.sandbox.commands import HOLD, PATIENCE_SECONDS, POLITE, SCRIPTS, STUBBORN, Lifeline, Shell

pytestmark = pytest.mark.anyio

TRUE = CommandRequest(argv=("true",), timeout=timedelta(seconds=20))
OWNER = """
import anyio, os, sys
from datetime import timedelta
from pathlib import Path
from fabro.run.target import FolderTarget
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.local import LocalProvider
from fabro.sandbox.port import CommandRequest

async def main(folder, owner, run_id, *scripts):
    provider = LocalProvider(Path(folder, "runs"), Keeper(owner), environment=os.environ)
    sandbox = await provider.prepare(run_id, FolderTarget(path=folder))
    async with anyio.create_task_group() as group:
        for script in scripts:
            request = CommandRequest(argv=("sh", "-c", script), timeout=timedelta(hours=1))
            group.start_soon(sandbox.run, request)

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def local(runs: Path, keeper: Keeper) -> LocalProvider:
    return LocalProvider(runs, keeper, environment=os.environ)


@pytest.fixture
def folder_line(tmp_path: Path) -> Iterator[Lifeline]:
    line = Lifeline(tmp_path)
    yield line
    line.close()


def processes_of(owner: str) -> list[psutil.Process]:
    """The commands of a server, and its keeper."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("FABRO_OWNER", "").startswith(f"{owner}/") or owner in process.cmdline():
                found.append(process)
    return found


async def test_a_folder_is_used_as_it_stands(local: LocalProvider, run_id: RunId, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    sandbox = await local.prepare(run_id, FolderTarget(path=str(tmp_path)))
    assert sandbox.working_directory == str(tmp_path)
    result = await sandbox.run(CommandRequest(argv=("cat", "note"), timeout=timedelta(seconds=20)))
    assert result.output == "mine"


async def test_an_empty_folder_is_made(local: LocalProvider, run_id: RunId, runs: Path) -> None:
    sandbox = await local.prepare(run_id, NoTarget())
    assert sandbox.working_directory == str(runs / run_id / "workspace")
    assert list((runs / run_id / "workspace").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("gone", SandboxError, "does not exist any more"),
        ("file", SandboxError, "is not a folder"),
        (None, InvalidInput, "absolute"),
    ],
)
async def test_a_folder_that_can_not_be_used(
    local: LocalProvider, run_id: RunId, tmp_path: Path, path: str | None, error: type[FabroError], words: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error, match=words):
        await local.prepare(run_id, FolderTarget(path=str(tmp_path / path) if path else "relative"))
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("bad", ["", "..", "../x", "01ARZ3NDEKTSV4RRFFQ69G5FA"])
async def test_a_run_id_is_no_path(local: LocalProvider, runs: Path, bad: str) -> None:
    with pytest.raises(InvalidInput, match="run id"):
        await local.prepare(RunId(bad), NoTarget())
    assert not await anyio.Path(runs).exists()


async def test_runs_that_have_no_room(local: LocalProvider, run_id: RunId, runs: Path) -> None:
    await anyio.Path(runs).touch()
    with pytest.raises(SandboxError, match=f"run {run_id} can't be made"):
        await local.prepare(run_id, NoTarget())


async def test_stray_output_of_an_earlier_server_is_removed(
    local: LocalProvider, run_id: RunId, runs: Path, keeper: Keeper
) -> None:
    sandbox = await local.prepare(run_id, NoTarget())
    loud = CommandRequest(argv=("seq", "10000"), timeout=timedelta(seconds=20))
    result = await sandbox.run(loud)
    assert result.spool is not None
    stray = result.spool.with_name(f"earlier-{run_id}-1.out")
    stray.write_text("left")
    await local.prepare(run_id, NoTarget())
    assert list((runs / run_id / "output").iterdir()) == [result.spool]
    assert result.spool.parent.stat().st_mode & 0o077 == 0
    result.discard()
    result.discard()


async def test_no_output_file_is_left_by_a_cancelled_command(
    local: LocalProvider, run_id: RunId, runs: Path, tmp_path: Path, folder_line: Lifeline
) -> None:
    sandbox = await local.prepare(run_id, FolderTarget(path=str(tmp_path)))
    script = "seq 100000; " + POLITE
    async with anyio.create_task_group() as group:
        group.start_soon(sandbox.run, CommandRequest(argv=("sh", "-c", script), timeout=timedelta(seconds=20)))
        await folder_line.ready()
        group.cancel_scope.cancel()
    assert list((runs / run_id / "output").iterdir()) == []


async def test_a_working_directory_that_is_gone(local: LocalProvider, run_id: RunId, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    sandbox = await local.prepare(run_id, FolderTarget(path=str(folder)))
    folder.rmdir()
    result = await sandbox.run(TRUE)
    assert result.termination == "not_started"
    assert f"the working directory '{folder}' is not there any more" in result.output


async def test_a_background_process_that_gave_back_the_output_may_go_on(
    local: LocalProvider, run_id: RunId, tmp_path: Path, folder_line: Lifeline, keeper: Keeper
) -> None:
    """What left the group and holds nothing of ours is the user's own wish, for as long as the server lives."""
    sandbox = await local.prepare(run_id, FolderTarget(path=str(tmp_path)))
    script = "exec 9>lifeline; mkfifo gone; setsid sh -c 'echo $$ > gone; sleep 9999' >/dev/null 2>&1 & cat gone"
    result = await sandbox.run(CommandRequest(argv=("sh", "-c", script), timeout=timedelta(seconds=20)))
    assert psutil.pid_exists(int(result.output))
    os.killpg(int(result.output), signal.SIGKILL)
    await folder_line.broken()


async def test_what_left_its_group_is_ended_with_the_run(
    local: LocalProvider, run_id: RunId, tmp_path: Path
) -> None:
    sandbox = await local.prepare(run_id, FolderTarget(path=str(tmp_path)))
    line = Lifeline(tmp_path)
    script = HOLD + "setsid sleep 9999 >/dev/null 2>&1 & echo ready >&9"
    ended = await sandbox.run(CommandRequest(argv=("bash", "-c", script), timeout=timedelta(seconds=20)))
    assert ended.termination == "exited"
    await line.ready()
    await local.release(run_id)
    await line.broken()
    await local.release(run_id)
    line.close()


async def test_no_descriptor_is_lost_over_200_commands(local: LocalProvider, run_id: RunId) -> None:
    sandbox = await local.prepare(run_id, NoTarget())
    await sandbox.run(TRUE)
    before = psutil.Process().num_fds()
    for number in range(200):
        await sandbox.run(TRUE)
        if number % 20 == 0:
            await sandbox.run(CommandRequest(argv=("cat",), timeout=timedelta(0), stdin=b"x" * 100_000))
            await sandbox.run(CommandRequest(argv=("no-such-command",), timeout=timedelta(0), stdin=b"x"))
    assert psutil.Process().num_fds() == before


async def test_a_task_that_is_cancelled_again_while_it_ends_its_command(
    shell: Shell, sandbox: LocalSandbox, lifeline: Lifeline
) -> None:
    """The event loop's own cancellation goes through shields; then the group is ended by force, at once."""
    task = asyncio.create_task(shell(STUBBORN))
    await lifeline.ready()
    task.cancel()
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with anyio.fail_after(1.5), suppress(asyncio.CancelledError):
        await task
    await lifeline.broken(within=1.5)


async def test_without_descriptors_for_processes_a_thread_waits(
    monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert (await shell("exit 7")).exit_code == 7
    assert (await shell("kill -9 $$")).exit_code == 137
    assert (await shell("exec sleep 9999", seconds=0.1)).termination == "timed_out"


async def test_memory_stays_flat_under_a_flood(shell: Shell) -> None:
    before = psutil.Process().memory_info().rss
    result = await shell("head -c 100M /dev/zero")
    result.discard()
    assert result.output_bytes == 100 * 1024 * 1024
    assert psutil.Process().memory_info().rss - before < 16 * 1024 * 1024


@pytest.mark.slow
async def test_nothing_outlives_a_server_that_was_killed(
    tmp_path: Path, run_id: RunId, folder_line: Lifeline
) -> None:
    owner = new_run_id(SystemClock().now())
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(fabro.__file__).parent.parent)}
    command = [sys.executable, "-c", OWNER, str(tmp_path), owner, run_id, *SCRIPTS.values()]
    async with await anyio.open_process(command, env=environment, start_new_session=True) as server:
        await folder_line.ready(times=len(SCRIPTS))
        alive = processes_of(owner)
        assert len(alive) > len(SCRIPTS)
        os.killpg(server.pid, signal.SIGKILL)
        await folder_line.broken(within=5)
    _, left = await anyio.to_thread.run_sync(psutil.wait_procs, alive, PATIENCE_SECONDS)
    assert left == []
    assert processes_of(owner) == []
