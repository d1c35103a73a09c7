"""This machine's own server: find, start, replace and end it. Above: connect, the CLI. Below: health, processes.

Two that start it at once are fine: the storage folder's lock lets one server through, and the other ends quietly
when it sees the first answer.
"""

import os
import signal
import tempfile
from collections.abc import Mapping

import anyio

from fabro import installed_version
from fabro.client.http import DROPPED, open_http
from fabro.client.shapes import Health
from fabro.client.spawn import explain_failure, spawn
from fabro.client.target import UNIX_URL, ServerTarget
from fabro.clock import SystemClock
from fabro.config.paths import Paths
from fabro.errors import Conflict, Unavailable
from fabro.store.folder import open_folder, read_holder

START_SECONDS = 20.0
HEALTH_SECONDS = 5.0
STOP_SECONDS = 10.0
LINGER_SECONDS = 1.0
"""How long a process that has let go of its storage is waited for; where nobody reaps it, it stays as a zombie."""
_LOOK_SECONDS = 0.02
_CLOCK = SystemClock()


async def health(paths: Paths) -> Health | None:
    """What the server of these paths says of itself; None when none listens.

    Raises:
        Unavailable: what listens does not answer (`server_unreachable`), or is no such server (`not_fabro`).
    """
    target = ServerTarget(url=UNIX_URL, socket=paths.socket, local=paths)
    async with open_http(target, client_name=f"fabro {installed_version()}") as http:
        try:
            answer = await http.ask("GET", "/health", seconds=HEALTH_SECONDS, revive=False)
        except Unavailable as error:
            if isinstance(error.__cause__, DROPPED):
                return None
            raise
        return answer.read(Health)


async def ensure_running(paths: Paths, environment: Mapping[str, str]) -> Health:
    """The server of these paths, started in the background where it does not run.

    One of an older version that was started in the background and has no unfinished run is replaced.

    Raises:
        FabroError: it can't be started; the error is its own (`storage_foreign`, for instance).
        Unavailable: `server_start_failed`: it does not answer within 20 s.
    """
    found = await health(paths)
    if found is not None and may_replace(found, installed_version()):
        await stop(paths, seconds=STOP_SECONDS)
        found = None
    return found or await start(paths, environment)


async def start(paths: Paths, environment: Mapping[str, str], *arguments: str) -> Health:
    """Start a server in the background and wait until it, or another that was quicker, answers.

    Args:
        paths: where it lies.
        environment: what it gets.
        arguments: further ones of `fabro server start`.

    Raises:
        FabroError: as for `ensure_running`.
    """
    with tempfile.TemporaryFile() as said:
        process = spawn(paths, environment, arguments, said)
        with anyio.move_on_after(START_SECONDS):
            while True:
                found = await health(paths)
                if found is not None:
                    return found
                if process.poll():
                    break
                await _CLOCK.sleep(_LOOK_SECONDS)
        raise explain_failure(process.poll(), said, paths)


def may_replace(found: Health, own: str) -> bool:
    """Whether a server makes way for one of version `own`."""
    older = _numbers(found.version) < _numbers(own)
    return older and found.mode == "background" and not found.unfinished_runs


async def stop(paths: Paths, *, seconds: float) -> int | None:
    """End the server that holds the storage folder; its process id, None when there is none.

    Raises:
        Unavailable: `server_stop_failed`: it does not end in time.
        StorageError: the folder is another program's.
    """
    pid = holder(paths)
    if pid is None:
        return None
    _send(pid, signal.SIGTERM)
    with anyio.move_on_after(seconds):
        while holder(paths) == pid:
            await _CLOCK.sleep(_LOOK_SECONDS)
        with anyio.move_on_after(LINGER_SECONDS):
            while _send(pid, 0):
                await _CLOCK.sleep(_LOOK_SECONDS)
        return pid
    raise Unavailable(
        f"the server (process {pid}) has not ended within {seconds:g} s",
        code="server_stop_failed",
        hint=f"End it by force: `kill -9 {pid}`. Runs go on at the next start.",
    )


def holder(paths: Paths) -> int | None:
    """The process that holds the storage folder, None when none does."""
    if read_holder(paths.storage) is None:
        return None
    try:
        open_folder(paths.storage).close()
    except Conflict as error:
        pid = error.details.get("pid")
        return pid if isinstance(pid, int) else None
    return None


def _send(pid: int, number: int) -> bool:
    """Send a signal; whether there is a process that got it."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The release numbers of a version, `0.10.1rc2` as 0, 10, 1; a pre-release counts as its release."""
    release = version.partition("+")[0]
    parts = [part for part in release.split(".") if part[:1].isdecimal()]
    return tuple(int("".join(char for char in part if char.isdecimal()) or 0) for part in parts)
