"""This machine's own server, as real processes: started, shared, stopped, killed, replaced."""

import os
import signal
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import anyio
import psutil
import pytest

from fabro.calls import Calls, RunIntent
from fabro.client import local_server
from fabro.client.connect import connect
from fabro.client.shapes import Health
from fabro.client.target import choose_target
from fabro.clock import SystemClock
from fabro.config.paths import Paths, find_paths
from fabro.errors import FabroError, StorageError, Unavailable
from fabro.ids import RunId
from fabro.run.target import NoTarget
from tests.conditions import until
from tests.workflows import version

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SLOW = """
digraph Slow {
  start [shape=Mdiamond]; exit [shape=Msquare]
  node [shape=parallelogram]
  first [script="echo first"]
  hold [script="while [ ! -e go ]; do read -t 0.05 < <(:); done; echo held"]
  last [script="echo last"]
  start -> first -> hold -> last -> exit
}
"""


@pytest.fixture
def paths(fabro_home: Mapping[str, str]) -> Paths:
    return find_paths(fabro_home)


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_many_starters_at_once_share_one_server(fabro_home: Mapping[str, str], paths: Paths) -> None:
    found: list[Health] = []

    async def start() -> None:
        found.append(await local_server.ensure_running(paths, fabro_home))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(start)
    assert len(found) == 3
    assert len({one.pid for one in found}) == 1


async def test_foreign_storage_is_refused_in_the_servers_own_words(
    fabro_home: Mapping[str, str], paths: Paths
) -> None:
    paths.storage.mkdir()
    (paths.storage / "their.db").write_text("theirs")
    with pytest.raises(StorageError) as caught:
        await local_server.ensure_running(paths, fabro_home)
    assert (caught.value.code, caught.value.hint is not None) == ("storage_foreign", True)
    assert [one.name for one in paths.storage.iterdir()] == ["their.db"]
    with pytest.raises(StorageError):
        async with connect(choose_target(None, None, fabro_home), client_name="test", environment=fabro_home):
            pass


async def test_an_unwritable_home_is_said(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**fabro_home, "FABRO_HOME": str(blocked / "home")}
    with pytest.raises(FabroError) as caught:
        await local_server.ensure_running(find_paths(environment), environment)
    assert str(blocked / "home") in caught.value.message


async def test_a_server_that_can_not_even_begin_shows_what_it_said(
    fabro_home: Mapping[str, str], paths: Paths, tmp_path: Path
) -> None:
    (tmp_path / "fabro.py").write_text("raise SystemExit('no such luck')")
    environment = {**fabro_home, "PYTHONPATH": str(tmp_path)}
    with pytest.raises(Unavailable) as caught:
        await local_server.start(paths, environment)
    assert (caught.value.code, "no such luck" in caught.value.message) == ("server_start_failed", True)


async def submit(calls: Calls) -> RunId:
    version_id = await calls.versions.create(version(SLOW))
    run = await calls.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    await calls.runs.start(run.id)
    return run.id


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_a_run_and_its_follower_outlive_the_server(
    fabro_home: Mapping[str, str], paths: Paths, end: signal.Signals
) -> None:
    """Killed or stopped in the middle of a command: the next server goes on, and the follower misses nothing."""
    seen: list[tuple[int, str]] = []
    ended = False
    with anyio.fail_after(60):
        async with connect(
            choose_target(None, None, fabro_home), client_name="test", environment=fabro_home
        ) as calls:
            run_id = await submit(calls)
            async with aclosing(calls.events.follow(run_id)) as stream:
                async for event in stream:
                    seen.append((event.seq, event.event))
                    if event.stage_id == "hold@1" and event.event == "command.started" and not ended:
                        ended = True
                        await _end(paths, end)
                        await local_server.ensure_running(paths, fabro_home)
                        (paths.storage / "runs" / run_id / "workspace" / "go").touch()
            state = await calls.runs.state(run_id)
    assert [seq for seq, _ in seen] == list(range(1, state.run.last_seq + 1))
    assert str(state.run.lifecycle.status) == "succeeded(completed)"
    assert [stage.stage_id for stage in state.stages if stage.node_id == "first"] == ["first@1"]
    assert [stage.stage_id for stage in state.stages if stage.node_id == "hold"] == ["hold@1", "hold@2"]


async def _end(paths: Paths, end: signal.Signals) -> None:
    found = await local_server.health(paths)
    assert found is not None
    began = SystemClock().monotonic()
    os.kill(found.pid, end)

    async def gone() -> bool:
        return has_ended(found.pid)

    await until(gone)
    assert SystemClock().monotonic() - began < 5


async def test_calls_bring_back_a_server_that_went_away(fabro_home: Mapping[str, str], paths: Paths) -> None:
    async with connect(choose_target(None, None, fabro_home), client_name="test", environment=fabro_home) as calls:
        run_id = await submit(calls)
        await calls.runs.cancel(run_id)
        await local_server.stop(paths, seconds=10)
        assert (await calls.runs.get(run_id)).id == run_id
    async with connect(
        choose_target(None, None, fabro_home), client_name="test", environment=fabro_home, start=False
    ) as calls:
        await local_server.stop(paths, seconds=10)
        with pytest.raises(Unavailable) as caught:
            await calls.runs.get(run_id)
        assert "fabro server start" in (caught.value.hint or "")


async def test_an_idle_server_ends_by_itself(fabro_home: Mapping[str, str], paths: Paths) -> None:
    started = await local_server.start(paths, fabro_home, "--idle-minutes", "0.005")

    async def gone() -> bool:
        return has_ended(started.pid)

    await until(gone)
    assert "having been idle" in paths.log_file.read_text()
    assert await local_server.health(paths) is None


@pytest.mark.parametrize(
    ("version", "own", "mode", "runs", "replaced"),
    [
        ("0.1.0", "0.2.0", "background", 0, True),
        ("0.9.0", "0.10.0", "background", 0, True),
        ("0.2.0", "0.2.0", "background", 0, False),
        ("0.3.0", "0.2.0", "background", 0, False),
        ("0.1.0", "0.2.0", "foreground", 0, False),
        ("0.1.0", "0.2.0", "background", 1, False),
        ("0+unknown", "0+unknown", "background", 0, False),
        ("0.2.0+local", "0.2.0", "background", 0, False),
    ],
)
def test_which_servers_make_way(version: str, own: str, mode: str, runs: int, replaced: bool) -> None:
    found = Health(
        status="ok",
        version=version,
        pid=1,
        started_at=SystemClock().now(),
        mode=mode,
        unfinished_runs=runs,
    )
    assert local_server.may_replace(found, own) is replaced
