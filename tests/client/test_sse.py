"""Frames out of bytes, however they are cut."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.client.sse import Frame, frames
from fabro.errors import Unavailable

pytestmark = pytest.mark.anyio

TEXT = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=30)


async def arriving(content: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(content: bytes, size: int = 1 << 20) -> list[Frame]:
    return [frame async for frame in frames(arriving(content, size))]


@given(
    written=st.lists(st.tuples(TEXT.filter(bool), TEXT.filter(bool)), max_size=5),
    size=st.integers(1, 50),
    end=st.sampled_from(["\n", "\r\n"]),
)
async def test_what_was_written_is_read_whatever_the_cuts(
    written: list[tuple[str, str]], size: int, end: str
) -> None:
    lines = [
        line for name, data in written for line in (f"id: 1{end}", f"event: {name}{end}", f"data: {data}{end}", end)
    ]
    found = await read("".join(lines).encode(), size)
    assert [(frame.event, frame.data.decode()) for frame in found] == written


async def test_comments_and_what_is_cut_off_are_dropped() -> None:
    assert await read(b": hi\n\nevent: a\ndata:x\n\n: hi\n\nevent: b\ndata: y\n") == [Frame(event="a", data=b"x")]


async def test_lines_of_data_belong_together() -> None:
    assert await read(b"data: a\ndata: b\n\n") == [Frame(event="message", data=b"a\nb")]


async def test_an_endless_frame_is_given_up() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (8 << 20)

    with pytest.raises(Unavailable) as caught:
        _ = [frame async for frame in frames(endless())]
    assert caught.value.code == "stream_too_large"
