"""This machine's own server: find, start, replace and end it. Above: connect, the CLI. Below: health, processes.

Two that start it at once are fine: the storage folder's lock lets one server through, and the other ends quietly
when it sees the first answer.
"""

import os
import shlex
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from fabro import installed_version
from fabro.client.http import DROPPED, open_http
from fabro.client.shapes import Health
from fabro.client.spawn import explain_failure, spawn
from fabro.client.target import UNIX_URL, ServerTarget
from fabro.clock import SystemClock
from fabro.config.paths import Paths, check_fallback, find_paths
from fabro.errors import Unavailable
from fabro.store.folder import find_holder

START_SECONDS = 20.0
HEALTH_SECONDS = 5.0
STOP_SECONDS = 10.0
LINGER_SECONDS = 1.0
"""How long a process that has let go of its storage is waited for; where nobody reaps it, it stays as a zombie."""
_LOOK_SECONDS = 0.02
_CLOCK = SystemClock()


@dataclass(frozen=True, kw_only=True, slots=True)
class StartOptions:
    """What a server in the background is told by `fabro server start`; None leaves it to the server."""

    listen: str | None = None
    idle_minutes: float | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options as words of a command line."""
        given = {"--listen": self.listen, "--idle-minutes": self.idle_minutes}
        return tuple(word for name, value in given.items() if value is not None for word in (name, str(value)))


def options_of(found: Health) -> StartOptions:
    """What brings a server back as it was."""
    urls = [place.removeprefix("http://") for place in found.listening if place.startswith("http://")]
    return StartOptions(listen=urls[0] if urls else None, idle_minutes=found.idle_minutes)


async def health(paths: Paths) -> Health | None:
    """What the server of these paths says of itself; None when none listens.

    Raises:
        InvalidInput: the socket's folder may be another user's, as `check_fallback` says.
        Unavailable: what listens does not answer (`server_unreachable`), is no such server (`not_fabro`), or is one
            of another version that can't be understood (`version_mismatch`).
    """
    check_fallback(paths.socket)
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

    One of an older version that was started in the background and has no unfinished run is replaced by one with
    the same options.

    Raises:
        FabroError: it can't be started; the error is its own (`storage_foreign`, for instance).
        Unavailable: `server_start_failed`: it does not answer within 20 s; `version_mismatch`: one runs that can't
            be understood, so that whether it is idle is unknown, and the hint's command replaces it.
    """
    try:
        found = await health(paths)
    except Unavailable as error:
        if error.code != "version_mismatch":
            raise
        hint = f"Replace it: `{_restart_command(paths)}`. If it has unfinished runs, they go on afterwards."
        raise Unavailable(error.message, code=error.code, hint=hint) from error
    if found is None:
        return await start(paths, environment)
    if not may_replace(found, installed_version()):
        return found
    await stop(paths, seconds=STOP_SECONDS)
    return await start(paths, environment, *options_of(found).arguments)


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
        Conflict: `storage_in_use`: who holds the folder is not known.
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
    """The process that holds the storage folder, None when none does.

    Raises:
        FabroError: as `find_holder` says.
    """
    found = find_holder(paths.storage)
    return found.pid if found is not None else None


def _restart_command(paths: Paths) -> str:
    """The command that restarts the server of these paths, with the folder where it has its socket there too."""
    by_folder = find_paths({}, storage_dir=str(paths.storage)) == paths
    where = ["--storage-dir", str(paths.storage)] if by_folder else []
    return shlex.join(["fabro", *where, "server", "restart"])


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
