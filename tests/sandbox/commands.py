"""What tests of commands share: the shape of `shell`, a line to hold while living, scripts that are hard to end."""

import os
from pathlib import Path
from typing import Protocol

import anyio

from fabro.sandbox.port import CommandResult

PATIENCE_SECONDS = 10.0
"""How long a test waits for what must happen."""


class Shell(Protocol):
    """Runs a script in the sandbox."""

    async def __call__(
        self, script: str, *, seconds: float = 20, stdin: bytes | None = None, **environment: str
    ) -> CommandResult: ...


class Lifeline:
    """A pipe that a script and all that it starts hold open: its end of file is the end of them all.

    Scripts begin with `HOLD` and say `echo ready >&9` when they are where the test wants them.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "lifeline"
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def ready(self, *, times: int = 1) -> None:
        """Return when scripts have said so that many times."""
        said = b""
        with anyio.fail_after(PATIENCE_SECONDS):
            while said.count(b"\n") < times:
                await anyio.wait_readable(self._descriptor)
                said += os.read(self._descriptor, 4096)

    async def broken(self, *, within: float = PATIENCE_SECONDS) -> None:
        """Return when nobody holds the line, be it that nobody ever did."""
        with anyio.fail_after(within):
            while self._is_held():
                await anyio.wait_readable(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _is_held(self) -> bool:
        try:
            return bool(os.read(self._descriptor, 4096))
        except BlockingIOError:
            return True


HOLD = "exec 9>lifeline; "
POLITE = HOLD + "sleep 9999 & echo ready >&9; wait"
STUBBORN = HOLD + """sh -c 'sleep 9999 & trap "" TERM; echo ready >&9; sleep 9999; sleep 9999'"""
STRAY = HOLD + "setsid sh -c 'echo ready >&9; sleep 9999; :' & wait"
STUBBORN_STRAY = HOLD + """setsid sh -c 'trap "" TERM; echo ready >&9; sleep 9999; sleep 9999' & wait"""
SCRIPTS = {"polite": POLITE, "stubborn": STUBBORN, "stray": STRAY, "stubborn stray": STUBBORN_STRAY}
