"""The owner of the local model's process. Above: `local`. Below: `local_child`, run by its path.

The process has a group of its own. It ends when this owner closes it, when the owner dies in whatever way (its
standard input ends), and by itself when idle; the next use starts it again.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.abc

from fabro.models.local_child import CANNOT_LOAD
from fabro.models.port import ModelError, ModelErrorKind

CONTEXT_TOKENS = 4096
"""Prompt and answer together. The model was trained on 8,192, at four times the wait on a small machine."""
IDLE_SECONDS = 300.0
"""How long the process stays without a request."""
_START_SECONDS = 60.0
_CHILD = Path(__file__).with_name("local_child.py")
_ERRORS = "errors"
_ERROR_TAIL = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class _Running:
    process: anyio.abc.Process
    folder: Path

    @property
    def socket(self) -> Path:
        """Where the process listens; it removes this first when it ends."""
        return self.folder / "model.sock"

    @property
    def is_up(self) -> bool:
        """Whether the process serves."""
        return self.process.returncode is None and self.socket.exists()

    async def report(self, byte: bytes) -> None:
        """Tell the process that a request begins or ends; silent when it is gone."""
        pipe = self.process.stdin
        gone = contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError)
        # Half a report would leave the process with a request that never ends.
        with anyio.CancelScope(shield=True), gone:
            if pipe is not None:
                await pipe.send(byte)

    async def stop(self) -> None:
        """End the process and wait for it; nothing in it is worth saving."""
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.aclose()
            shutil.rmtree(self.folder, ignore_errors=True)


class LocalServer:
    """One process that serves the weights, started on first use and shared by whoever uses it.

    Args:
        weights: the model's file.
        context_tokens: how many tokens prompt and answer have together.
        idle_seconds: how long the process stays without a request.
        parent: where the process's private folder is made; its path must be short, for a socket is in it. None is
            the system's folder for temporary files.
    """

    def __init__(
        self,
        weights: Path,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        idle_seconds: float = IDLE_SECONDS,
        parent: Path | None = None,
    ) -> None:
        self.context_tokens = context_tokens
        self._weights = weights
        self._idle_seconds = idle_seconds
        self._parent = parent
        self._running: _Running | None = None
        self._starting = anyio.Lock()

    @property
    def pid(self) -> int | None:
        """The process's id while it lives."""
        return self._running.process.pid if self._running is not None and self._running.is_up else None

    @asynccontextmanager
    async def in_use(self) -> AsyncGenerator[Path]:
        """Yield the unix socket of the server, which stays up for the block.

        Raises:
            ModelError: the process did not start.
        """
        async with self._starting:
            running = await self._enter()
        try:
            yield running.socket
        finally:
            await running.report(b"-")

    async def aclose(self) -> None:
        """End the process and wait for it."""
        async with self._starting:
            running, self._running = self._running, None
            if running is not None:
                await running.stop()

    async def _enter(self) -> _Running:
        """The process with one more request open, started when there is none; an ending one is replaced."""
        if self._running is not None and self._running.is_up:
            await self._running.report(b"+")
            return self._running
        ending, self._running = self._running, None
        if ending is not None:
            await ending.stop()
        folder = Path(tempfile.mkdtemp(prefix="fabro-local-", dir=self._parent))
        arguments = [str(self._weights), str(folder), str(self.context_tokens), str(self._idle_seconds)]
        self._running = await _start(folder, arguments)
        return self._running


async def _start(folder: Path, arguments: list[str]) -> _Running:
    """A process that is ready, or neither a process nor its folder."""
    with contextlib.ExitStack() as unless_started:
        unless_started.callback(shutil.rmtree, folder, ignore_errors=True)
        running = _Running(process=await _open(arguments, folder / _ERRORS), folder=folder)
        try:
            await _await_ready(running)
        except BaseException:
            await running.stop()
            raise
        unless_started.pop_all()
    return running


async def _open(arguments: list[str], errors: Path) -> anyio.abc.Process:
    with contextlib.ExitStack() as until_open:
        # Cancelled in the middle of this, the event loop would lose the process.
        until_open.enter_context(anyio.CancelScope(shield=True))
        output = until_open.enter_context(errors.open("wb"))
        return await anyio.open_process(
            [sys.executable, "-P", str(_CHILD), *arguments],
            stdin=PIPE,
            stdout=PIPE,
            stderr=output,
            start_new_session=True,
        )


async def _await_ready(running: _Running) -> None:
    output = running.process.stdout
    with anyio.move_on_after(_START_SECONDS):
        try:
            if output is not None and await output.receive():
                return
        except anyio.EndOfStream:
            pass
    said = (running.folder / _ERRORS).read_text(errors="replace")[-_ERROR_TAIL:].strip()
    is_broken = CANNOT_LOAD in said
    raise ModelError(
        f"local: the model's process did not start: {said or 'it was not ready in time'}",
        kind=ModelErrorKind.CONFIGURATION if is_broken else ModelErrorKind.SERVER,
        hint="On Debian: `apt-get install libgomp1`, then try again." if is_broken else None,
    )
