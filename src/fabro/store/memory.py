"""The store that forgets. Above: tests and programs that embed the engine. Below: port, codec, head."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anyio.lowlevel import checkpoint

from fabro.clock import Clock
from fabro.ids import RunId
from fabro.run.events import Event, StoredEvent
from fabro.store import codec, head, refusals
from fabro.store.codec import Encoded
from fabro.store.commits import Commits
from fabro.store.head import Head
from fabro.store.port import RunQuery, RunRecord
from fabro.store.query import fits, id_range


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """An event as it is kept: as text, so that nobody else holds a part of it in their hands."""

    seq: int
    at: datetime
    name: str
    body: str


@dataclass(kw_only=True, slots=True)
class _Run:
    head: Head
    epoch: int = 0
    rows: list[_Row] = field(default_factory=list[_Row])


class MemoryStore:
    """Implements `fabro.store.port.EventStore`; each method is one step of the event loop, so none sees another's
    half.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._commits = Commits()
        self._runs: dict[RunId, _Run] = {}
        self._ids: list[RunId] = []
        self._is_open = True

    @property
    def commits(self) -> Commits:
        """Tells of each commit."""
        return self._commits

    async def create(self, run_id: RunId, events: Sequence[Event]) -> RunRecord:
        """Begin a run's log; see the port."""
        await self._enter()
        encoded = [codec.encode(event) for event in events]
        if run_id in self._runs:
            raise refusals.run_exists(run_id)
        new, stored = head.begin(run_id, [one.event for one in encoded], self._clock.now())
        self._runs[run_id] = _Run(head=new, rows=_rows(stored, encoded))
        insort(self._ids, run_id)
        self._commits.notify(run_id)
        return new.record(epoch=0)

    async def append(
        self, run_id: RunId, events: Sequence[Event], *, expected_seq: int, epoch: int | None = None
    ) -> tuple[StoredEvent, ...]:
        """Add events behind the last; see the port."""
        await self._enter()
        encoded = [codec.encode(event) for event in events]
        run = self._run(run_id)
        refusals.check_place(
            run_id,
            expected_seq=expected_seq,
            last_seq=run.head.last_seq,
            epoch=epoch,
            current_epoch=run.epoch,
        )
        stored: tuple[StoredEvent, ...] = ()
        try:
            stored = run.head.extend([one.event for one in encoded], self._clock.now())
        finally:
            if not stored:
                run.head = head.fold(run_id, _read(run_id, run.rows))
        run.rows += _rows(stored, encoded)
        self._commits.notify(run_id)
        return stored

    async def claim(self, run_id: RunId) -> RunRecord:
        """Raise the run's epoch; see the port."""
        await self._enter()
        run = self._run(run_id)
        run.epoch += 1
        return run.head.record(run.epoch)

    async def get(self, run_id: RunId) -> RunRecord:
        """The run's record; see the port."""
        await self._enter()
        run = self._run(run_id)
        return run.head.record(run.epoch)

    async def list(self, query: RunQuery) -> tuple[RunRecord, ...]:
        """A page of records, newest first; see the port."""
        await self._enter()
        refusals.check_query(query)
        low, high = id_range(query)
        found: list[RunRecord] = []
        for position in range(bisect_left(self._ids, high) - 1, -1, -1):
            run = self._runs[self._ids[position]]
            if len(found) == query.limit or run.head.summary.id < low:
                break
            if fits(run.head.summary, query):
                found.append(run.head.record(run.epoch))
        return tuple(found)

    async def read(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """A page of events; see the port."""
        await self._enter()
        start = max(0, after)
        return tuple(_read(run_id, self._run(run_id).rows[start : start + max(0, limit)]))

    async def close(self) -> None:
        """Forget everything."""
        self._is_open = False
        self._runs.clear()
        self._ids.clear()

    async def _enter(self) -> None:
        await checkpoint()
        if not self._is_open:
            raise refusals.closed()

    def _run(self, run_id: RunId) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise refusals.no_such_run(run_id)
        return run


def _rows(stored: Sequence[StoredEvent], encoded: Sequence[Encoded]) -> list[_Row]:
    return [
        _Row(seq=place.seq, at=place.at, name=one.name, body=one.body)
        for place, one in zip(stored, encoded, strict=True)
    ]


def _read(run_id: RunId, rows: Iterable[_Row]) -> Iterable[StoredEvent]:
    for row in rows:
        yield StoredEvent(run_id=run_id, seq=row.seq, at=row.at, event=codec.decode(row.name, row.body))
