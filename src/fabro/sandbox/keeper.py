"""The server's keeper: a small process that outlives it and ends its commands. Above: `local`, assembly. Below:
`keeper_main`, the program.

One keeper belongs to one server process. It is started with the first command and again when it has died.
"""

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

import anyio
from anyio.to_thread import run_sync

from fabro.ids import RunId
from fabro.sandbox import keeper_main
from fabro.sandbox.port import SandboxError

GRACE_SECONDS = 2.0
"""How long a process may take to end when asked, before it is ended by force."""
_FORCE_SECONDS = 2.0
_CLOSE_SECONDS = 10.0
_OWNER = re.compile(r"[A-Za-z0-9_-]+")


class Keeper:
    """Knows the process groups of every command that runs now.

    Args:
        owner: names this server process among all others, ever, such as a fresh ULID; letters, digits, `_`, `-`.
    """

    def __init__(self, owner: str) -> None:
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"owner is {owner!r}; wanted letters, digits, `_` and `-`")
        self.owner = owner
        self._numbers = itertools.count(1)
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._scans = anyio.CapacityLimiter(4)

    @property
    def pid(self) -> int | None:
        """The keeper's process id, None before the first command."""
        return None if self._process is None else self._process.pid

    def new_marker(self, run_id: RunId) -> str:
        """A fresh value of the marker variable, for one command of a run."""
        return f"{self.owner}/{run_id}/{next(self._numbers)}"

    def ensure(self) -> None:
        """Start the keeper's process unless it runs.

        Raises:
            OSError: it can't be started.
        """
        if self._process is None or self._process.poll() is not None:
            self._restart()

    def begin(self, group: int) -> None:
        """A command runs as this process group.

        Raises:
            SandboxError: the keeper has died and can't be started again.
        """
        self._groups.add(group)
        if not self._tell(f"+{group}\n"):
            try:
                self._restart()
            except OSError as error:
                raise SandboxError(f"the process that watches over commands can't be started: {error}") from error

    def end(self, group: int) -> None:
        """Nobody is left in this process group."""
        self._groups.discard(group)
        if not self._tell(f"-{group}\n") and self._process is not None:
            self._process.kill()  # the next one will not have heard of the group

    async def sweep(
        self, *, marker: str | None = None, prefix: str | None = None, group: int | None = None
    ) -> None:
        """End the group, and every process that carries the marker, or one that begins with the prefix: by asking,
        and after 2 s by force.

        Returns when nobody is left, at the latest 2 s after the use of force. Without /proc (macOS) processes
        are not found by their marker.
        """
        groups = () if group is None else (group,)
        needle = None if marker is None else keeper_main.command_needle(marker)
        needle = needle if prefix is None else keeper_main.prefix_needle(prefix)

        async def strike(number: int) -> bool:
            return await run_sync(keeper_main.strike, groups, needle, number, limiter=self._scans)

        await strike(signal.SIGTERM)
        with anyio.move_on_after(GRACE_SECONDS):
            await _until_nobody_is_found(lambda: strike(0))
            return
        with anyio.move_on_after(_FORCE_SECONDS):
            await _until_nobody_is_found(lambda: strike(signal.SIGKILL))

    async def aclose(self) -> None:
        """End every command that is left, in the keeper's own way, and the keeper. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        self._close_pipe()
        await run_sync(_wait, process)

    def _tell(self, line: str) -> bool:
        """Whether the keeper will know. A full pipe means one that does not read: it is as good as dead."""
        try:
            os.write(self._pipe, line.encode())
        except OSError:
            return False
        return True

    def _restart(self) -> None:
        self._close_pipe()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        reading, self._pipe = os.pipe()  # neither end is inherited by what is spawned, except as asked for
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper_main.__file__, self.owner],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(reading)
        for group in self._groups:
            os.write(self._pipe, f"+{group}\n".encode())

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


async def _until_nobody_is_found(look: Callable[[], Awaitable[bool]]) -> None:
    """Twice in a row, as one look can miss somebody."""
    pause = 0.002
    found_before = True
    while (found := await look()) or found_before:
        found_before = found
        await anyio.sleep(pause)
        pause = min(2 * pause, 0.05)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
