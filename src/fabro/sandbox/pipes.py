"""The server's ends of a command's pipes, served by callbacks of the event loop. Above: `child`. Below: the system.

Callbacks and not tasks, so that a command's output is read whatever becomes of the task that waits for it.
"""

import asyncio
import os
from collections.abc import Callable
from typing import IO

import anyio

_READ_BYTES = 65536
_LAST_READS = 32
"""A pipe holds 64 KiB, at most 1 MiB, and somebody may still be writing when the last of it is read."""


class OutputPipe:
    """Reads until nobody holds the other end, or until `finish`.

    Args:
        file: an unbuffered pipe, which is closed at the end.
        take: gets the bytes in order, at most 64 KiB at a time; must not raise.
    """

    def __init__(self, file: IO[bytes], take: Callable[[bytes], None]) -> None:
        self._file = file
        self._take = take
        self._loop = asyncio.get_running_loop()
        self.ended = anyio.Event()
        os.set_blocking(file.fileno(), False)
        self._loop.add_reader(file.fileno(), self._read)

    def finish(self) -> None:
        """Take what is in the pipe and close it, though others may hold it open."""
        for _ in range(_LAST_READS):
            if not self._read():
                break
        self._close()

    def _read(self) -> bool:
        """Whether there was something."""
        if self._file.closed:
            return False
        try:
            chunk = os.read(self._file.fileno(), _READ_BYTES)
        except BlockingIOError:
            return False
        if chunk:
            self._take(chunk)
        else:
            self._close()
        return bool(chunk)

    def _close(self) -> None:
        if not self._file.closed:
            self._loop.remove_reader(self._file.fileno())
            self._file.close()
            self.ended.set()


class InputPipe:
    """Writes as fast as the other end reads, until all is written, nobody can read it any more, or `close`.

    Args:
        file: an unbuffered pipe, which is closed at the end.
        data: everything to write.
    """

    def __init__(self, file: IO[bytes], data: bytes) -> None:
        self._file = file
        self._rest = memoryview(data)
        self._loop = asyncio.get_running_loop()
        os.set_blocking(file.fileno(), False)
        self._loop.add_writer(file.fileno(), self._write)
        self._write()

    def close(self) -> None:
        """Stop writing; the reader sees the end of its input."""
        if not self._file.closed:
            self._loop.remove_writer(self._file.fileno())
            self._file.close()

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._file.fileno(), self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = memoryview(b"")
        if not self._rest:
            self.close()
