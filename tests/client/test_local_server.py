"""This machine's own server, as real processes: started, shared, stopped, killed, replaced."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from fabro.calls import Calls, RunIntent
from fabro.client import local_server
from fabro.client.connect import connect
from fabro.client.decode import decode
from fabro.client.shapes import Health
from fabro.client.target import choose_target
from fabro.clock import SystemClock
from fabro.config.paths import Paths, fallback_folder, find_paths
from fabro.errors import FabroError, InvalidInput, StorageError, Unavailable
from fabro.ids import RunId
from fabro.run.target import NoTarget
from tests.conditions import until
from tests.workflows import version

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOBODY = 65534
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
    """Killed or stopped in the middle of a command: the next server goes on, and the follower misses nothing. One
    that was killed is started again by whoever follows, one that was stopped is not.
    """
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
                        if end is signal.SIGTERM:
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


def found_with(**facts: object) -> dict[str, object]:
    usual: dict[str, object] = {"status": "ok", "version": "0.0.1", "pid": 1, "mode": "background"}
    return {**usual, "started_at": "2026-01-01T00:00:00Z", "unfinished_runs": 0, **facts}


@pytest.mark.parametrize(
    ("listening", "minutes", "arguments"),
    [
        (["/s"], None, ()),
        (["/s", "http://127.0.0.1:8765"], 0.0, ("--listen", "127.0.0.1:8765", "--idle-minutes", "0.0")),
        (["/s", "http://[::1]:8765"], None, ("--listen", "[::1]:8765")),
        (["/s"], 2.5, ("--idle-minutes", "2.5")),
    ],
)
def test_the_options_that_bring_a_server_back(
    listening: list[str], minutes: float | None, arguments: tuple[str, ...]
) -> None:
    told = json.dumps(found_with(listening=listening, idle_minutes=minutes)).encode()
    assert local_server.options_of(decode(Health, told, server_version="")).arguments == arguments


OLDER = """
import http.server, json, os, signal, socketserver, sys
from pathlib import Path
from fabro.store.folder import open_folder

storage, path, told = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
folder = open_folder(storage, socket=path)

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({**told, "pid": os.getpid()}).encode()
        self.send_response(200)
        self.send_header("x-fabro-version", "0.0.1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def address_string(self):
        return ""

signal.signal(signal.SIGTERM, lambda *_: (os.unlink(path), os._exit(0)))
server = socketserver.UnixStreamServer(path, Answer)
print("listens", flush=True)
server.serve_forever()
"""


@contextmanager
def older_server(paths: Paths, environment: Mapping[str, str], told: Mapping[str, object]) -> Generator[int]:
    """A server of an earlier version, which says that of itself; its process id."""
    command = [sys.executable, "-c", OLDER, str(paths.storage), str(paths.socket), json.dumps(told)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"listens\n"
            yield process.pid
        finally:
            process.kill()


async def test_an_older_idle_server_is_replaced_with_its_options(
    fabro_home: Mapping[str, str], paths: Paths
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    told = found_with(listening=[str(paths.socket), url], idle_minutes=7.5)
    with older_server(paths, fabro_home, told) as pid:
        now = await local_server.ensure_running(paths, fabro_home)
        assert now.pid != pid
    assert (now.listening, now.idle_minutes) == ((str(paths.socket), url), 7.5)


@pytest.mark.parametrize("own_folder", [False, True])
async def test_the_hint_about_a_server_that_is_not_understood_works(
    fabro_home: Mapping[str, str], own_folder: bool
) -> None:
    chosen = f"{fabro_home['FABRO_HOME']}/an other" if own_folder else None
    paths = find_paths(fabro_home, storage_dir=chosen)
    with older_server(paths, fabro_home, {"status": "ok"}) as pid:
        with pytest.raises(Unavailable) as caught:
            await local_server.ensure_running(paths, fabro_home)
        assert (caught.value.code, caught.value.hint is not None) == ("version_mismatch", True)
        command = shlex.split((caught.value.hint or "").split("`")[1])
        done = await anyio.run_process([sys.executable, "-m", *command], env=fabro_home, check=False)
        assert (done.returncode, b"was started" in done.stdout) == (0, True), done.stderr
    assert (await local_server.ensure_running(paths, fabro_home)).pid != pid


async def test_two_stops_at_once_end_one_server(fabro_home: Mapping[str, str], paths: Paths) -> None:
    started = await local_server.ensure_running(paths, fabro_home)
    stops = [
        await anyio.open_process([sys.executable, "-m", "fabro", "server", "stop"], env=fabro_home)
        for _ in range(4)
    ]
    codes = [await one.wait() for one in stops]
    for one in stops:
        await one.aclose()
    assert codes == [0] * 4
    assert has_ended(started.pid)
    assert local_server.holder(paths) is None


THEIRS = pytest.param("theirs", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can give it away"))


@pytest.mark.parametrize("made", ["link", "file", "open", THEIRS])
async def test_a_socket_whose_folder_others_could_have_made_is_not_connected_to(
    fabro_home: Mapping[str, str], made: str
) -> None:
    long = find_paths({"HOME": fabro_home["HOME"], "FABRO_HOME": f"{fabro_home['HOME']}/{'long' * 25}"})
    assert long.socket.parent == fallback_folder()
    folder = Path(fabro_home["HOME"]) / fallback_folder().name
    paths = Paths(storage=long.storage, socket=folder / "s")
    if made == "link":
        folder.symlink_to(fabro_home["FABRO_HOME"])
    elif made == "file":
        folder.write_text("")
    else:
        folder.mkdir(mode=0o700)
        folder.chmod(0o777 if made == "open" else 0o700)
        os.chown(folder, NOBODY if made == "theirs" else -1, -1)
    with pytest.raises(InvalidInput) as caught:
        await local_server.health(paths)
    assert (caught.value.code, str(folder) in caught.value.message) == ("socket_folder_unsafe", True)


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
