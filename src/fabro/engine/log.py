"""One run's log in the hands of its runner: the state, what is not written yet, and what others wrote.

Above: the runner. Below: the store's port. Facts are things that really happened and must be written whatever else
has happened meanwhile; decisions follow from the state and are thought again when the state turns out to be older
than the log.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import partial
from itertools import chain, repeat
from typing import TypeVar

import structlog

from fabro.clock import Clock
from fabro.errors import StorageError
from fabro.ids import RunId
from fabro.run.events import Event, StoredEvent
from fabro.run.state import RunState
from fabro.store.feed import read_all
from fabro.store.port import EventStore, SeqConflict

RETRY_SECONDS = (1, 2, 4, 8, 16, 30, 60, 60, 60, 60)
"""Pauses between tries to write while the disk does not take it."""

T = TypeVar("T")
_logger = structlog.get_logger(__name__)


class RunLog:
    """A run's state with a tail of events that are applied and not yet committed."""

    def __init__(self, store: EventStore, clock: Clock, run_id: RunId, epoch: int) -> None:
        self.state = RunState(run_id=run_id)
        self._store = store
        self._clock = clock
        self._epoch = epoch
        self._committed = 0
        self._facts: list[Event] = []
        self._decisions: list[Event] = []

    async def load(self) -> None:
        """Fold the whole stored log."""
        self.state = RunState(run_id=self.state.run_id)
        self._committed = 0
        await self.catch_up()

    async def catch_up(self) -> None:
        """Apply what others have appended. Nothing may be uncommitted."""
        async with aclosing(read_all(self._store, self.state.run_id, after=self._committed)) as stored_events:
            async for stored in stored_events:
                self.state.apply(stored)
                self._committed = stored.seq

    @property
    def uncommitted(self) -> int:
        """How many events wait to be written."""
        return len(self._facts) + len(self._decisions)

    def happened(self, events: Iterable[Event]) -> None:
        """Take facts. They come before any decision of the same commit."""
        assert not self._decisions
        self._apply(events, self._facts)

    def decided(self, events: Iterable[Event]) -> None:
        """Take decisions."""
        self._apply(events, self._decisions)

    async def commit(self) -> bool:
        """Write what waits. False when others had appended meanwhile: the facts are then kept behind what they
        wrote, the decisions are dropped, and the caller has to decide again.

        Raises:
            StorageError: the disk did not take decisions, after many tries; facts are tried without end.
            StaleEpoch: another worker has the run.
        """
        waiting = (*self._facts, *self._decisions)
        if not waiting:
            return True
        try:
            stored = await self._patiently(partial(self._append, waiting))
        except SeqConflict:
            self._decisions = []
            await self._patiently(self.load)
            facts, self._facts = self._facts, []
            self._apply(facts, self._facts)
            return False
        self._committed = stored[-1].seq
        self._facts, self._decisions = [], []
        return True

    def _apply(self, events: Iterable[Event], to: list[Event]) -> None:
        now = self._clock.now()
        for event in events:
            seq = self.state.seq + 1
            self.state.apply(StoredEvent(run_id=self.state.run_id, seq=seq, at=now, event=event))
            to.append(event)

    async def _append(self, events: tuple[Event, ...]) -> tuple[StoredEvent, ...]:
        return await self._store.append(self.state.run_id, events, expected_seq=self._committed, epoch=self._epoch)

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until the storage takes it: as long as it lasts where facts would be lost, else some minutes."""
        pauses = chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1]) if self._facts else ())
        for pause in pauses:
            try:
                return await attempt()
            except StorageError as error:
                _logger.warning("the storage fails, trying again", run_id=self.state.run_id, error=error.message)
                await self._clock.sleep(pause)
        return await attempt()
