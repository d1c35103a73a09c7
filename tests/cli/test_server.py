"""`fabro server`: what its commands do, say and return."""

import json
import os
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psutil
import pytest

from fabro.cli.main import execute
from fabro.clock import SystemClock
from fabro.config.paths import Paths, find_paths

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


Fabro = Callable[..., Ended]


@pytest.fixture
def fabro(fabro_home: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> Fabro:
    """Runs a command in this process; the servers that it starts are processes of their own."""

    def run(*arguments: str, **environment: str) -> Ended:
        capsys.readouterr()
        code = execute(arguments, {**fabro_home, **environment})
        said = capsys.readouterr()
        return Ended(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture
def paths(fabro_home: Mapping[str, str]) -> Paths:
    return find_paths(fabro_home)


def pid_of(fabro: Fabro) -> int:
    return int(json.loads(fabro("--json", "server", "status").out)["server"]["pid"])


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_start_status_stop(fabro: Fabro, paths: Paths) -> None:
    before = fabro("server", "status")
    assert (before.code, "No server runs" in before.out) == (1, True)
    started = fabro("server", "start", "--background")
    assert (started.code, "was started" in started.out) == (0, True), started.err
    status = fabro("server", "status")
    assert status.code == 0
    for shown in (paths.socket, paths.storage, paths.log_file):
        assert str(shown) in status.out
    again = fabro("server", "start", "--background")
    assert (again.code, "runs already" in again.out) == (0, True)
    foreground = fabro("server", "start")
    assert (foreground.code, "already" in foreground.err) == (1, True)
    pid = pid_of(fabro)
    began = SystemClock().monotonic()
    stopped = fabro("server", "stop")
    assert (stopped.code, str(pid) in stopped.out) == (0, True)
    assert SystemClock().monotonic() - began < 5
    assert has_ended(pid)
    assert not paths.socket.exists()
    nothing = fabro("server", "stop")
    assert (nothing.code, "No server runs" in nothing.out) == (0, True)


def test_restart_keeps_the_options(fabro: Fabro) -> None:
    options = ("--listen", "127.0.0.1:0", "--idle-minutes", "7.1")
    started = fabro("--json", "server", "start", "--background", *options)
    first = json.loads(started.out)["server"]
    assert fabro("server", "restart").code == 0
    second = json.loads(fabro("--json", "server", "status").out)["server"]
    assert second["pid"] != first["pid"]
    assert second["listening"] == first["listening"]
    assert (first["idle_minutes"], second["idle_minutes"]) == (pytest.approx(7.1), pytest.approx(7.1))
    by_url = fabro("ps", "--all", FABRO_SERVER=second["listening"][1])
    assert by_url.code == 0, by_url.err


def test_restart_of_a_server_that_does_not_answer(fabro: Fabro) -> None:
    assert fabro("server", "start", "--background").code == 0
    pid = pid_of(fabro)
    os.kill(pid, signal.SIGSTOP)
    try:
        failed = fabro("server", "restart", "--timeout", "0.2")
        assert (failed.code, f"kill -9 {pid}" in failed.err) == (1, True), failed.err
    finally:
        os.kill(pid, signal.SIGKILL)
    assert fabro("server", "restart").code == 0
    assert pid_of(fabro) != pid


def test_a_start_with_options_that_the_running_server_has_not(fabro: Fabro) -> None:
    options = ("--listen", "127.0.0.1:0", "--idle-minutes", "7.1")
    started = fabro("--json", "server", "start", "--background", *options)
    address = json.loads(started.out)["server"]["listening"][1].removeprefix("http://")
    same = [(), ("--listen", address), ("--listen", "localhost:0"), ("--idle-minutes", "7.1"), options]
    for given in same:
        assert fabro("server", "start", "--background", *given).code == 0, given
    for given in (("--listen", "127.0.0.1:1"), ("--listen", "[::1]:0"), ("--idle-minutes", "0")):
        ended = fabro("server", "start", "--background", *given)
        assert (ended.code, given[1] in ended.err, "server stop" in ended.err) == (1, True, True), ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--listen", "0.0.0.0:80"], 1, "SSH tunnel"),
        (["--listen", "nonsense"], 1, "HOST:PORT"),
        (["--idle-minutes", "5"], 2, "--background"),
        (["--odd"], 2, "--odd"),
    ],
)
def test_what_a_start_refuses(fabro: Fabro, arguments: list[str], code: int, said: str) -> None:
    ended = fabro("server", "start", *arguments)
    assert (ended.code, said in ended.err) == (code, True), ended.err


@pytest.mark.parametrize("where", ["--foreground", "--background"])
def test_a_port_in_use_is_said(fabro: Fabro, where: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = fabro("server", "start", where, "--listen", address)
    assert (ended.code, address in ended.err, "in use" in ended.err) == (1, True, True), ended.err


def test_a_left_over_socket_is_no_obstacle_and_a_file_is_one(fabro: Fabro, paths: Paths) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(paths.socket))
    assert fabro("server", "start", "--background").code == 0
    assert fabro("server", "stop").code == 0
    paths.socket.write_text("precious")
    ended = fabro("server", "start", "--background")
    assert (ended.code, "no socket" in ended.err) == (1, True), ended.err
    assert paths.socket.read_text() == "precious"
