"""Keeps what a command writes: its ends in memory, the whole in a file. Above: `local`. Below: the file system.

Takes bounded memory whatever comes, and any bytes at all (reference/known-faults.md W-14).
"""

import codecs
import io
from pathlib import Path
from types import TracebackType
from typing import Self

from fabro.sandbox.port import INLINE_BYTES

END_BYTES = 8 * 1024
"""How much of larger output is shown from either end."""
SPOOL_BYTES = 64 * 1024 * 1024
"""How much of larger output goes to the file."""


class Output:
    """Collects bytes. As a context it deletes the file when it is left by an exception.

    Args:
        spool: where to write when the output is larger than what is shown; nothing must be there.
    """

    def __init__(self, spool: Path) -> None:
        self._path = spool
        self._file: io.FileIO | None = None
        self._first = bytearray()
        self._last = bytearray()
        self.size = 0
        """Bytes that came."""
        self.spool: Path | None = None
        """The file, once there is one."""

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self.size <= INLINE_BYTES < self.size + len(chunk):
            self._open()
            self._write(bytes(self._first))
        if self.size + len(chunk) > INLINE_BYTES:
            self._write(chunk[: max(0, SPOOL_BYTES - self.size)])
        self.size += len(chunk)
        self._first += chunk[: max(0, INLINE_BYTES - len(self._first))]
        self._last += chunk[-END_BYTES:]
        del self._last[:-END_BYTES]

    def settle(self) -> None:
        """Keep the bytes in the file also where there are few of them and text can't hold them as they came."""
        whole = bytes(self._first)
        if self.size <= INLINE_BYTES and _decoded(whole).encode() != whole:
            self._open()
            self._write(whole)

    def text(self) -> str:
        """All of it, or its head and tail around a line that says how many bytes are missing."""
        if self.size <= INLINE_BYTES:
            return _decoded(bytes(self._first))
        head = _whole_characters(bytes(self._first[:END_BYTES]))
        tail = _from_character_start(bytes(self._last))
        missing = self.size - len(head) - len(tail)
        line_break = "" if head.endswith(b"\n") else "\n"
        return f"{_decoded(head)}{line_break}[... {missing} bytes not shown ...]\n{_decoded(tail)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._give_up()
        self._close()

    def _open(self) -> None:
        try:
            self._file = io.FileIO(self._path, "xb")
        except OSError:
            return
        self.spool = self._path

    def _write(self, data: bytes) -> None:
        """Losing the file is better than losing the command, so a full disk ends the file and nothing else."""
        if self._file is None:
            return
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self._close()
        if self.spool is not None:
            self.spool.unlink(missing_ok=True)
            self.spool = None

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _whole_characters(data: bytes) -> bytes:
    """`data` without the beginning of a character that its end cuts off."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    return data.removesuffix(decoder.getstate()[0])


def _from_character_start(data: bytes) -> bytes:
    """`data` without the rest of a character that its beginning cuts off: three bytes at most."""
    rest = next((index for index in range(4) if data[index] & 0xC0 != 0x80), 0)
    return data[rest:]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\u2400")
