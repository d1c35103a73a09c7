"""The thread that writes: shared commits, separate fates."""

import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from fabro.errors import StorageError
from fabro.store.sqlite.connection import connect
from fabro.store.sqlite.writer import MAX_BATCH, MAX_WAITING, Request, Writer

pytestmark = pytest.mark.anyio
T = TypeVar("T")


class Trace:
    """What went on, in order: statements of the connection, and the ends of requests."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.undone = 0
        self.committed = 0

    def undo(self) -> None:
        self.undone += 1

    def commit(self) -> None:
        self.committed += 1

    def request(self, work: Callable[[sqlite3.Connection], T]) -> Request[T]:
        return Request(work=work, undone=self.undo, committed=self.commit)


@pytest.fixture
def trace() -> Trace:
    return Trace()


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    made = connect(tmp_path / "x.db")
    made.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    return made


@pytest.fixture
async def writer(connection: sqlite3.Connection, tmp_path: Path, trace: Trace) -> AsyncIterator[Writer]:
    connection.set_trace_callback(trace.statements.append)
    made = Writer(connection, tmp_path / "x.db")
    yield made
    await made.close()


def insert(number: int) -> Callable[[sqlite3.Connection], int]:
    def work(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?)", (number,))
        return number

    return work


def numbers(tmp_path: Path) -> list[int]:
    other = connect(tmp_path / "x.db")
    found = [number for (number,) in other.execute("SELECT n FROM t ORDER BY n")]
    other.close()
    return found


async def test_what_waits_together_is_committed_together(writer: Writer, trace: Trace, tmp_path: Path) -> None:
    gate = threading.Event()
    count = MAX_WAITING + 100

    def hold(_: sqlite3.Connection) -> bool:
        return gate.wait(30)

    async with anyio.create_task_group() as group:
        group.start_soon(writer.submit, trace.request(hold))
        for number in range(count):
            group.start_soon(writer.submit, trace.request(insert(number)))
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert numbers(tmp_path) == list(range(count))
    assert trace.statements.count("COMMIT") <= count // MAX_BATCH + 3
    assert trace.committed == count + 1


async def test_a_refused_request_leaves_nothing_and_hurts_no_other(
    writer: Writer, trace: Trace, tmp_path: Path
) -> None:
    caught: list[Exception] = []

    def refuse(connection: sqlite3.Connection) -> None:
        insert(100)(connection)
        raise ValueError("no")

    async def expect(work: Callable[[sqlite3.Connection], object]) -> None:
        try:
            await writer.submit(trace.request(work))
        except (ValueError, StorageError) as error:
            caught.append(error)

    async with anyio.create_task_group() as group:
        for work in (insert(1), refuse, insert(2), insert(1), insert(3)):
            group.start_soon(expect, work)
    assert numbers(tmp_path) == [1, 2, 3]
    assert [type(error) for error in caught] == [ValueError, StorageError]
    assert (trace.committed, trace.undone) == (3, 2)


async def test_a_failed_commit_undoes_all_and_the_writer_goes_on(
    writer: Writer, trace: Trace, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE child (n REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED)")
    caught: list[StorageError] = []

    def orphan(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO child VALUES (77)")

    async def expect(work: Callable[[sqlite3.Connection], object]) -> None:
        try:
            await writer.submit(trace.request(work))
        except StorageError as error:
            caught.append(error)

    gate = threading.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(writer.submit, trace.request(lambda _: gate.wait(30)))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(expect, insert(1))
        group.start_soon(expect, orphan)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert len(caught) == 2
    assert numbers(tmp_path) == []
    assert (trace.committed, trace.undone) == (1, 2)
    assert await writer.submit(trace.request(insert(2))) == 2
    assert numbers(tmp_path) == [2]


async def test_a_cancelled_caller_leaves_after_the_end_of_its_request(
    writer: Writer, trace: Trace, tmp_path: Path
) -> None:
    begun, gate = anyio.Event(), threading.Event()
    ends: list[str] = []
    to_loop = anyio.lowlevel.current_token()

    def hold(connection: sqlite3.Connection) -> None:
        anyio.from_thread.run_sync(begun.set, token=to_loop)
        gate.wait(30)
        insert(1)(connection)

    async def call() -> None:
        await writer.submit(trace.request(hold))
        ends.append("returned")

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await begun.wait()
        group.cancel_scope.cancel()
        gate.set()
    assert numbers(tmp_path) == [1]
    assert ends == ["returned"]


async def test_a_caller_that_is_cancelled_before_its_turn_does_nothing(
    writer: Writer, trace: Trace, tmp_path: Path
) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await writer.submit(trace.request(insert(1)))
    await writer.submit(trace.request(insert(2)))
    assert numbers(tmp_path) == [2]


async def test_closing_writes_what_waits(writer: Writer, trace: Trace, tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(writer.submit, trace.request(insert(number)))
        await anyio.wait_all_tasks_blocked()
        await writer.close()
    assert numbers(tmp_path) == list(range(10))
    with pytest.raises(StorageError, match="closed"):
        await writer.submit(trace.request(insert(11)))
