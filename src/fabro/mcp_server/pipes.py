"""Reading and writing file descriptors from the event loop, without threads. Above: stdio. Below: the system.

No descriptor is made non-blocking, as other processes may share it: a read waits until there is something to read,
and a write waits for room and then writes no more than fits for certain. Descriptors that can't be waited for,
such as files, never make anyone wait.
"""

import os
import select
import stat

import anyio
import anyio.lowlevel

CHUNK = 64 * 1024
PENDING = 1024 * 1024
"""Bytes that may wait to be written before senders have to wait."""


async def read_some(fd: int) -> bytes:
    """The next bytes; none at the end.

    Raises:
        OSError: reading failed.
    """
    if _can_wait(fd):
        try:
            await anyio.wait_readable(fd)
        except PermissionError:  # the null device, and others that are always ready
            await anyio.lowlevel.checkpoint()
    else:
        await anyio.lowlevel.checkpoint()
    return os.read(fd, CHUNK)


class Output:
    """Writes whole messages in order. `run` must be running while messages are sent."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pending = bytearray()
        self._queued = anyio.Event()
        self._written = anyio.Event()
        self._is_broken = False

    async def send(self, message: bytes) -> None:
        """Queue a message, and write at once what the reader has room for.

        Raises:
            BrokenResourceError: the reader is gone.
        """
        self._pending += message
        self._write()
        await self._wait_until_pending(PENDING)
        if self._is_broken:
            raise anyio.BrokenResourceError

    async def run(self) -> None:
        """Write what `send` could not; never returns."""
        while True:
            if self._pending:
                await anyio.wait_writable(self._fd)
                self._write()
            else:
                self._queued = anyio.Event()
                await self._queued.wait()

    async def drain(self) -> None:
        """Wait until everything is written, or the reader is gone."""
        await self._wait_until_pending(0)

    async def stall(self, seconds: float) -> None:
        """Wait until something has been left lying by the reader for so many seconds."""
        while True:
            with anyio.move_on_after(seconds):
                await self._written.wait()
                continue
            if self._pending:
                return

    async def _wait_until_pending(self, most: int) -> None:
        while len(self._pending) > most:
            await self._written.wait()

    def _write(self) -> None:
        """Write for as long as that does not block."""
        while self._pending and _has_room(self._fd):
            try:
                del self._pending[: os.write(self._fd, self._pending[: select.PIPE_BUF])]
            except OSError:
                self._is_broken = True
                self._pending.clear()
        self._written.set()
        self._written = anyio.Event()
        if self._pending:
            self._queued.set()


def _can_wait(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _has_room(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))
