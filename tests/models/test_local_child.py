"""When the serving process ends: its owner's pipe ends, or nobody asked for too long."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from fabro.models.local_child import watch

NEVER = 60.0


class Watch:
    """`watch` in a thread, and the owner's end of its pipe."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._reader, self.writer = os.pipe()

    def begin(self, idle_seconds: float) -> "Future[None]":
        return self._pool.submit(watch, self._reader, idle_seconds)

    def close(self) -> None:
        os.close(self._reader)


@pytest.fixture
def watched() -> Iterator[Watch]:
    with ThreadPoolExecutor(max_workers=1) as pool:
        it = Watch(pool)
        yield it
    it.close()


@pytest.mark.parametrize("reports", [b"+", b"-", b"+-", b"++-"])
def test_the_end_of_the_pipe_ends_it_whatever_is_open(watched: Watch, reports: bytes) -> None:
    ended = watched.begin(NEVER)
    os.write(watched.writer, reports)
    os.close(watched.writer)
    ended.result(timeout=10)


def test_idleness_ends_it(watched: Watch) -> None:
    os.write(watched.writer, b"-")
    watched.begin(0.05).result(timeout=10)
    os.close(watched.writer)


def test_idleness_counts_from_the_end_of_the_last_request(watched: Watch) -> None:
    os.write(watched.writer, b"+-")
    ended = watched.begin(0.05)
    with pytest.raises(TimeoutError):
        ended.result(timeout=0.3)
    os.write(watched.writer, b"-")
    ended.result(timeout=10)
    os.close(watched.writer)
