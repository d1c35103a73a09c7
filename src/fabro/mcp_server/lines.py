"""Bytes to lines of bounded length. Above: stdio. Below: nothing.

Only the byte 10 ends a line, so that separators inside JSON texts never do. Source: known faults S-13, S-14.
"""

from collections.abc import Iterator

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one message; a longer one is skipped to its end."""


class LineTooLong(ValueError):
    """A line was over the limit and has been skipped."""


class LineSplitter:
    """Takes bytes as they come and gives lines as they are complete."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._length = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that `data` completes, without their ends."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._keep(piece)
            yield from self._line()
        self._keep(rest)

    def end(self) -> Iterator[bytes | LineTooLong]:
        """What is left when no more bytes come."""
        if self._parts or self._skipping:
            yield from self._line()

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._longest:
            self._skipping = True
            self._parts.clear()
        elif piece:
            self._parts.append(piece)

    def _line(self) -> Iterator[bytes | LineTooLong]:
        line, skipped = b"".join(self._parts), self._skipping
        self._parts.clear()
        self._length, self._skipping = 0, False
        if skipped:
            yield LineTooLong(f"a message may have {self._longest} bytes, this one has more")
        else:
            yield line.removesuffix(b"\r")
