"""Descriptors on the event loop."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from fabro.mcp_server.pipes import Output, read_some

pytestmark = pytest.mark.anyio
BIG = bytes(range(256)) * 20_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for fd in (read, write):
        try:
            os.close(fd)
        except OSError:
            continue


async def read_all(fd: int, length: int) -> bytes:
    content = b""
    while len(content) < length:
        content += await read_some(fd)
    return content


async def test_more_than_a_pipe_holds_arrives_whole_and_in_order(pipe: tuple[int, int]) -> None:
    output, content = Output(pipe[1]), b""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.run)
        for number in range(3):
            tasks.start_soon(output.send, BIG + b"%d" % number)
        content = await read_all(pipe[0], 3 * (len(BIG) + 1))
        tasks.cancel_scope.cancel()
    assert content == BIG + b"0" + BIG + b"1" + BIG + b"2"


async def test_a_reader_that_takes_nothing_holds_up_senders_and_nobody_else(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.run)
        with anyio.move_on_after(0.05) as scope:
            await output.send(BIG)
        assert scope.cancelled_caught
        assert await read_all(pipe[0], len(BIG)) == BIG, "a message that was begun is finished"
        await output.drain()
        tasks.cancel_scope.cancel()


async def test_every_sender_goes_on_when_the_reader_does(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.run)
        with anyio.fail_after(10):
            async with anyio.create_task_group() as senders:
                for _ in range(3):
                    senders.start_soon(output.send, BIG)
                senders.start_soon(output.drain)
                await read_all(pipe[0], 3 * len(BIG))
        tasks.cancel_scope.cancel()


async def test_a_reader_that_takes_nothing_for_a_time_is_noticed(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1])
    with anyio.move_on_after(0.05) as scope:
        await output.stall(0.01)
    assert scope.cancelled_caught, "nothing is there to take"
    with anyio.move_on_after(0.05):
        await output.send(BIG)
    with anyio.fail_after(10):
        await output.stall(0.01)


async def test_a_reader_that_is_gone_is_told(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1])
    os.close(pipe[0])
    for _ in range(2):
        with pytest.raises(anyio.BrokenResourceError):
            await output.send(b"x")
    await output.drain()


async def test_the_end_is_no_bytes(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"last")
    os.close(pipe[1])
    assert [await read_some(pipe[0]) for _ in range(2)] == [b"last", b""]


async def test_files_and_the_null_device_never_wait(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    for path, expected in ((file, b"content"), (Path(os.devnull), b"")):
        fd = os.open(path, os.O_RDONLY)
        try:
            assert await read_some(fd) == expected
        finally:
            os.close(fd)
    fd = os.open(file, os.O_WRONLY)
    try:
        await Output(fd).send(BIG)
    finally:
        os.close(fd)
    assert file.read_bytes() == BIG
