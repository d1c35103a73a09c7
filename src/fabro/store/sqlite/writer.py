"""The one thread that writes, with group commit. Above: the store. Below: a connection.

Whatever waits when the thread comes round is written in one transaction and shares its commit, so that a hundred
runs cost little more than one. Each request has a savepoint: one that is refused leaves nothing and hurts no other.
Answers go back to the event loop after the commit, all with one wake-up. This module alone speaks to asyncio
directly: anyio's way from a thread to the loop waits for an answer from there, which would hold up the disk.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

from fabro.errors import StorageError
from fabro.store.refusals import closed
from fabro.store.sqlite.connection import storage_error

MAX_WAITING = 1024
"""Requests that may wait for the thread; further callers wait their turn on the event loop."""
MAX_BATCH = 256
"""Requests that share a commit at most."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Request(Generic[_T]):
    """Something to be done inside a transaction.

    `work` runs on the writer's thread and may raise; `undone` runs there if its effects were rolled back, by
    itself or with the whole transaction; `committed` runs on the event loop once they are durable.
    """

    work: Callable[[sqlite3.Connection], _T]
    undone: Callable[[], None]
    committed: Callable[[], None]


@dataclass(kw_only=True, slots=True)
class _Ticket:
    """A request on its way. `do` and `undone` run on the thread; `tell` on the loop, with the error if any."""

    do: Callable[[sqlite3.Connection], None]
    undone: Callable[[], None]
    tell: Callable[[Exception | None], None]
    loop: asyncio.AbstractEventLoop
    error: Exception | None = None


class Writer:
    """Owns the writing connection. Made on any thread; `submit` and `close` belong to one event loop."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._slots = anyio.CapacityLimiter(MAX_WAITING)
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="fabro-writer", daemon=True)
        self._thread.start()

    async def submit(self, request: Request[_T]) -> _T:
        """Have the request done and committed. A cancelled caller learns of it after the request's end.

        Raises:
            StorageError: the commit failed, or the writer is closed.
            Exception: whatever `work` raised.
        """
        async with self._slots:
            if not self._is_open:
                raise closed()
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[_T] = loop.create_future()
            self._waiting.put(_ticket(request, answer, loop))
            with anyio.CancelScope(shield=True):
                await answer
            return answer.result()

    async def close(self) -> None:
        """Write what waits, then end the thread and close the connection."""
        if self._is_open:
            self._is_open = False
            self._waiting.put(None)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._thread.join)

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            batch, goes_on = self._next_batch()
            if batch:
                self._write(batch)
                self._answer(batch)
        self._connection.close()

    def _next_batch(self) -> tuple[list[_Ticket], bool]:
        """What waits, at least one; and whether more may come."""
        batch: list[_Ticket] = []
        with contextlib.suppress(queue.Empty):
            while len(batch) < MAX_BATCH:
                ticket = self._waiting.get(block=not batch)
                if ticket is None:
                    return batch, False
                batch.append(ticket)
        return batch, True

    def _write(self, batch: Sequence[_Ticket]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for ticket in batch:
                self._do(ticket)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._fail(batch, storage_error(self._path, error))

    def _do(self, ticket: _Ticket) -> None:
        self._connection.execute("SAVEPOINT request")
        try:
            ticket.do(self._connection)
        except Exception as error:  # the thread must outlive any one request
            if isinstance(error, sqlite3.Error) and not self._connection.in_transaction:
                raise  # SQLite has rolled everything back by itself
            ticket.error = storage_error(self._path, error) if isinstance(error, sqlite3.Error) else error
            ticket.undone()
            self._connection.execute("ROLLBACK TO request")
        self._connection.execute("RELEASE request")

    def _fail(self, batch: Sequence[_Ticket], error: StorageError) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        for ticket in batch:
            ticket.undone()
            ticket.error = ticket.error or error

    def _answer(self, batch: Sequence[_Ticket]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to be told
            batch[0].loop.call_soon_threadsafe(_tell_all, batch)


def _tell_all(batch: Sequence[_Ticket]) -> None:
    for ticket in batch:
        ticket.tell(ticket.error)


def _ticket(request: Request[_T], answer: "asyncio.Future[_T]", loop: asyncio.AbstractEventLoop) -> _Ticket:
    result: list[_T] = []

    def tell(error: Exception | None) -> None:
        if error is None:
            request.committed()
        if answer.done():  # its caller is gone
            return
        if error is None:
            answer.set_result(result[0])
        else:
            answer.set_exception(error)

    return _Ticket(
        do=lambda connection: result.append(request.work(connection)),
        undone=request.undone,
        tell=tell,
        loop=loop,
    )
