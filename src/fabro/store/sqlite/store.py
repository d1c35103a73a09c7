"""Runs and events in one SQLite file. Above: assembly. Below: the writer, the readers, blobs.

What a method promises stands in `fabro.store.port`. Bodies over `INLINE_BYTES` go to the blob store before their
event is written, and come back from there when it is read.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from fabro.clock import Clock
from fabro.errors import NotFound, StorageError
from fabro.ids import RunId
from fabro.run.events import Event, StoredEvent
from fabro.store import codec, refusals
from fabro.store.blobs import Blobs
from fabro.store.codec import Encoded, Undecodable
from fabro.store.commits import Commits
from fabro.store.head import Head, fold
from fabro.store.port import RunQuery, RunRecord
from fabro.store.sqlite.connection import BUSY_TIMEOUT, connect, make_file, told_as_storage_errors
from fabro.store.sqlite.migrate import migrate
from fabro.store.sqlite.readers import Readers
from fabro.store.sqlite.reads import (
    Elsewhere,
    RunRow,
    decoded,
    find_run,
    page_of_events,
    page_of_runs,
    record_of,
)
from fabro.store.sqlite.writer import Request, Writer
from fabro.store.sqlite.writes import (
    ColdRunError,
    Heads,
    Place,
    Written,
    write_claim,
    write_events,
    write_new_run,
    write_summary,
)

INLINE_BYTES = 100 * 1024
"""The largest body that stays in the database."""
_PAGE = 1000
"""Events folded at once."""

_T = TypeVar("_T")
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def open_sqlite(path: Path, clock: Clock, *, blobs: Blobs, busy_timeout: timedelta = BUSY_TIMEOUT) -> "SqliteStore":
    """The store in the file `path`, which is made where there is none, and brought up to date where it is older.

    At most one store at a time may have a file open; `fabro.store.folder` sees to that. Other programs may read it,
    and one that writes is waited for as long as `busy_timeout`.

    Raises:
        StorageError: the file can't be opened or written, is damaged, of a newer version or another program's.
    """
    with told_as_storage_errors(path):
        make_file(path)
        with contextlib.ExitStack() as on_failure:
            connection = connect(path, busy_timeout=busy_timeout)
            on_failure.callback(connection.close)
            migrate(connection, path)
            on_failure.pop_all()
    return SqliteStore(
        clock=clock, blobs=blobs, writer=Writer(connection, path), readers=Readers(path, busy_timeout)
    )


class SqliteStore:
    """Implements `fabro.store.port.EventStore`. Made by `open_sqlite`; belongs to one event loop."""

    def __init__(self, *, clock: Clock, blobs: Blobs, writer: Writer, readers: Readers) -> None:
        self._clock = clock
        self._blobs = blobs
        self._commits = Commits()
        self._heads = Heads()
        self._writer = writer
        self._readers = readers

    @property
    def commits(self) -> Commits:
        """Tells of each commit, after it is durable."""
        return self._commits

    async def create(self, run_id: RunId, events: Sequence[Event]) -> RunRecord:
        """Begin a run's log; see the port."""
        written = await self._written(events)
        return await self._grow(
            run_id, lambda connection: write_new_run(connection, self._heads, run_id, written, self._clock.now())
        )

    async def append(
        self, run_id: RunId, events: Sequence[Event], *, expected_seq: int, epoch: int | None = None
    ) -> tuple[StoredEvent, ...]:
        """Add events behind the last; see the port."""
        written = await self._written(events)
        place = Place(expected_seq=expected_seq, epoch=epoch)

        def work(connection: sqlite3.Connection, spare: Head | None = None) -> tuple[StoredEvent, ...]:
            return write_events(
                connection, self._heads, run_id, written, self._clock.now(), place=place, spare=spare
            )

        try:
            return await self._grow(run_id, work)
        except ColdRunError:  # it stood in the right place, so that what is folded now fits, or is past that place
            return await self._grow(run_id, partial(work, spare=await self._fold(run_id)))

    async def claim(self, run_id: RunId) -> RunRecord:
        """Raise the run's epoch; see the port."""
        request = _request(lambda connection: write_claim(connection, run_id))
        try:
            return await self._writer.submit(request)
        except Undecodable:
            await self._repair(run_id)
            return await self._writer.submit(request)

    async def get(self, run_id: RunId) -> RunRecord:
        """The run's record; see the port."""
        return await self._record(await self._readers.run(lambda connection: find_run(connection, run_id)))

    async def list(self, query: RunQuery) -> tuple[RunRecord, ...]:
        """A page of records, newest first; see the port. A run that can't be read is passed over and logged."""
        refusals.check_query(query)
        found: tuple[RunRecord, ...] = ()
        while len(found) < query.limit:
            missing = replace(query, limit=query.limit - len(found))
            rows = await self._readers.run(partial(page_of_runs, query=missing))
            found = (*found, *await self._readable(rows))
            if len(rows) < missing.limit:
                break
            query = replace(query, before=_id(rows[-1]))
        return found

    async def read(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """A page of events; see the port."""
        page = await self._readers.run(partial(page_of_events, run_id=run_id, after=after, limit=limit))
        return tuple([await self._fetched(run_id, one) if isinstance(one, Elsewhere) else one for one in page])

    async def close(self) -> None:
        """Write what waits, then let go of the file."""
        await self._writer.close()
        await self._readers.close()

    async def _grow(self, run_id: RunId, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return await self._writer.submit(
            Request(
                work=work,
                undone=lambda: self._heads.drop(run_id),
                committed=lambda: self._commits.notify(run_id),
            )
        )

    async def _written(self, events: Sequence[Event]) -> Sequence[Written]:
        return [await self._placed(codec.encode(event)) for event in events]

    async def _placed(self, encoded: Encoded) -> Written:
        content = encoded.body.encode()
        if len(content) <= INLINE_BYTES:
            return Written(event=encoded.event, name=encoded.name, body=encoded.body, blob=None)
        blob = await self._blobs.put(content)
        return Written(event=encoded.event, name=encoded.name, body=None, blob=blob)

    async def _fetched(self, run_id: RunId, row: Elsewhere) -> StoredEvent:
        try:
            body = await self._blobs.get(row.blob)
        except (NotFound, StorageError) as error:
            raise refusals.unreadable(run_id, f"event {row.seq}: {error.message}") from error
        return decoded(run_id, row.seq, row.at_ms, row.name, body)

    async def _fold(self, run_id: RunId) -> Head:
        head = fold(run_id, await self.read(run_id, limit=_PAGE))
        while page := await self.read(run_id, after=head.last_seq, limit=_PAGE):
            head = fold(run_id, page, onto=head)
        return head

    async def _record(self, row: RunRow) -> RunRecord:
        try:
            return record_of(row)
        except Undecodable:
            folded = await self._repair(_id(row))
            return folded.record(epoch=row[3])

    async def _readable(self, rows: Sequence[RunRow]) -> Sequence[RunRecord]:
        found: dict[RunId, RunRecord] = {}
        for row in rows:
            try:
                found[_id(row)] = await self._record(row)
            except StorageError as error:
                _log.warning("run left out of a list", run_id=_id(row), reason=error.message)
        return tuple(found.values())

    async def _repair(self, run_id: RunId) -> Head:
        """Fold a run whose summary can't be read, and write the summary anew if the disk takes it."""
        folded = await self._fold(run_id)
        try:
            await self._writer.submit(_request(lambda connection: write_summary(connection, folded)))
        except StorageError as error:
            _log.warning("summary not rewritten", run_id=run_id, reason=error.message)
        return folded


def _request(work: Callable[[sqlite3.Connection], _T]) -> Request[_T]:
    """A request that no log grows by."""
    return Request(work=work, undone=_nothing, committed=_nothing)


def _nothing() -> None: ...


def _id(row: RunRow) -> RunId:
    return RunId(row[0].decode("utf-8", "replace"))
