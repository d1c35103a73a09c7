"""What every test has: the event loop, Hypothesis profiles, a home of its own, no process left behind.

Above: all tests. Below: pytest, the anyio plugin, Hypothesis and psutil. The time limit of one test is the setting
`timeout` in pyproject.toml; a test that needs longer says so with `@pytest.mark.timeout(SECONDS)`.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

SECONDS_TO_END = 10.0
"""How long a process may take to end once it was asked to."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "PYTHONPATH")
"""The variables of this process that commands under test see; no key, token or proxy is among them."""


def _register_profiles() -> None:
    """`./check` picks one with `--hypothesis-profile`; in CI the examples are the same in every run."""
    shared = settings(
        deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
    settings.register_profile("fast", shared, max_examples=25)
    settings.register_profile("default", shared, max_examples=100)
    settings.register_profile("full", shared, max_examples=1000)
    settings.load_profile("default")


_register_profiles()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that the product runs on."""
    return "asyncio"


@pytest.fixture
def fabro_home() -> Iterator[Mapping[str, str]]:
    """An environment for `fabro` as a process: a home and a storage folder of its own, and nothing of the user's.

    Pass it as `env` to a child process; `{**fabro_home, "NAME": "value"}` adds to it. The folder's path is short,
    because a unix socket's path may not exceed about a hundred bytes. When the test ends, whatever still runs in
    this home (a server that a command started in the background) is asked to end, and must do so in ten seconds.
    """
    with tempfile.TemporaryDirectory(prefix="fabro-", dir="/tmp") as folder:
        home = Path(folder).resolve()
        fabro = home / ".fabro"
        fabro.mkdir(mode=0o700)
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        environment |= {"HOME": str(home), "FABRO_HOME": str(fabro), "PYTHONUNBUFFERED": "1"}
        environment |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
        try:
            yield environment
        finally:
            stubborn = _end(_processes_of(fabro))
        assert not stubborn, f"still running {SECONDS_TO_END:g} s after SIGTERM, and killed: {stubborn}"


@pytest.fixture(scope="session", autouse=True)
def no_process_left_behind() -> Iterator[None]:
    """Fail when child processes of the test process outlive the tests that started them."""
    this = psutil.Process()
    before = set(this.children(recursive=True))
    yield
    left = [child for child in this.children(recursive=True) if child not in before and not _is_of_python(child)]
    _, alive = psutil.wait_procs(left, timeout=2.0)
    described = [_describe(child) for child in alive]
    _end(alive)
    assert not described, f"processes that tests left behind, now ended: {described}"


def _processes_of(fabro: Path) -> list[psutil.Process]:
    """Processes of this user whose environment names that folder, whoever their parent is by now."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("FABRO_HOME") == str(fabro):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _end(processes: list[psutil.Process]) -> list[str]:
    """Ask the processes to end and wait; kill those that do not, and describe them."""
    for process in processes:
        _signal(process.terminate)
    _, alive = psutil.wait_procs(processes, timeout=SECONDS_TO_END)
    stubborn = [_describe(process) for process in alive]
    for process in alive:
        _signal(process.kill)
    psutil.wait_procs(alive, timeout=SECONDS_TO_END)
    return stubborn


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except psutil.NoSuchProcess:
        return


def _is_of_python(process: psutil.Process) -> bool:
    """Whether it is multiprocessing's own tracker, which lives as long as its parent."""
    return "multiprocessing.resource_tracker" in _describe(process)


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"{process.pid}: ended"
