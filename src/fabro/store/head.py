"""The end of a run's log: all that a writer must know to add to it. Above: memory, sqlite. Below: ledger, summary.

Every store puts every event through here, so that all admit the same logs and fold the same summaries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fabro.clock import from_millis, to_millis
from fabro.errors import Conflict
from fabro.ids import RunId
from fabro.projections import summary as summaries
from fabro.projections.summary import RunSummary
from fabro.run.events import Event, StoredEvent
from fabro.run.ledger import Ledger
from fabro.store.port import RunRecord
from fabro.store.refusals import check_not_empty, unreadable


@dataclass(kw_only=True, slots=True)
class Head:
    """A run's fold up to its last event. After a refusal half way through `extend` it is spoiled: fold it anew."""

    ledger: Ledger
    summary: RunSummary
    last_seq: int
    last_event_at: datetime

    def extend(self, events: Sequence[Event], now: datetime) -> tuple[StoredEvent, ...]:
        """Take the events behind the last one, all at the time `now`, kept to the millisecond.

        Raises:
            IllegalEvent, IllegalTransition: an event can't follow; those before it have been taken.
        """
        check_not_empty(events)
        stored = _place(self.summary.id, events, now, after=self.last_seq)
        for one in stored:
            self.take(one)
        return stored

    def take(self, stored: StoredEvent) -> None:
        """Take the next event.

        Raises:
            IllegalEvent, IllegalTransition: it can't follow, and has not been taken.
        """
        self.ledger.admit(stored.event)
        self.summary = summaries.apply(self.summary, stored)
        self.last_seq, self.last_event_at = stored.seq, stored.at

    def record(self, epoch: int) -> RunRecord:
        """The run as stores give it out."""
        return RunRecord(
            summary=self.summary, last_seq=self.last_seq, last_event_at=self.last_event_at, epoch=epoch
        )


def begin(run_id: RunId, events: Sequence[Event], now: datetime) -> tuple[Head, tuple[StoredEvent, ...]]:
    """A new log.

    Raises:
        IllegalEvent, IllegalTransition: the events are no legal beginning.
    """
    check_not_empty(events)
    stored = _place(run_id, events, now, after=0)
    head = _start(stored[0])
    for one in stored[1:]:
        head.take(one)
    return head, stored


def fold(run_id: RunId, log: Iterable[StoredEvent], *, onto: Head | None = None) -> Head:
    """The head of a log that is read back, all of it, or the next part behind `onto`, which is used up.

    Raises:
        StorageError: `run_unreadable`: the log is empty, has a gap, or is not legal.
    """
    head = onto
    try:
        for stored in log:
            expected = 1 if head is None else head.last_seq + 1
            if stored.seq != expected:
                raise unreadable(run_id, f"event {expected} is missing")
            if head is None:
                head = _start(stored)
            else:
                head.take(stored)
    except Conflict as error:
        raise unreadable(run_id, error.message) from error
    if head is None:
        raise unreadable(run_id, "its log is empty")
    return head


def _start(first: StoredEvent) -> Head:
    ledger = Ledger()
    ledger.admit(first.event)
    return Head(ledger=ledger, summary=summaries.begin(first), last_seq=first.seq, last_event_at=first.at)


def _place(run_id: RunId, events: Sequence[Event], now: datetime, *, after: int) -> tuple[StoredEvent, ...]:
    at = from_millis(to_millis(now))
    return tuple(
        StoredEvent(run_id=run_id, seq=seq, at=at, event=event) for seq, event in enumerate(events, after + 1)
    )
