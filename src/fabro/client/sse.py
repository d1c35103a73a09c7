"""Server-sent events, read from bytes as they arrive. Above: the event calls. Below: nothing.

Lines end with a line feed, or a carriage return and a line feed, and with nothing else: text may hold any other
character that some libraries take for the end of a line.
"""

from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass

from fabro.errors import Unavailable

LARGEST_FRAME = 64 << 20
"""Bytes of a frame; an event has 16 MiB at most, before its text is escaped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One event of a stream."""

    event: str
    data: bytes


async def frames(chunks: AsyncIterable[bytes]) -> AsyncGenerator[Frame]:
    """The frames of a stream, without comments; one that is cut off is dropped.

    Raises:
        Unavailable: `stream_too_large`: a frame does not end.
    """
    name, data = b"message", list[bytes]()
    async for line in _lines(chunks):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                yield Frame(event=name.decode(errors="replace"), data=b"\n".join(data))
            name, data = b"message", []
        elif field == b"event":
            name = value
        elif field == b"data":
            data.append(value)


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    rest = bytearray()
    async for chunk in chunks:
        rest += chunk
        if b"\n" not in chunk:
            if len(rest) > LARGEST_FRAME:
                raise Unavailable("the server sends an event without end", code="stream_too_large")
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            yield line.removesuffix(b"\r")
