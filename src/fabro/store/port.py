"""What a store of runs promises. Above: engine, operations, feed. Below: events and summaries.

Implementations: `memory` and `sqlite`; one conformance suite holds for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fabro.errors import Conflict
from fabro.ids import RunId
from fabro.projections.summary import RunSummary
from fabro.run.events import Event, StoredEvent
from fabro.run.status import StatusKind
from fabro.store.commits import Commits


class SeqConflict(Conflict):
    """Somebody else has appended since; read on from the sequence number that you know, and decide again."""

    default_code = "seq_conflict"


class StaleEpoch(Conflict):
    """Another worker has claimed the run; this one must stop writing to it."""

    default_code = "stale_epoch"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """A run's summary and where its log stands. `epoch` counts how often the run was claimed."""

    summary: RunSummary
    last_seq: int
    last_event_at: datetime
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    """Which runs to list, newest first.

    An empty `statuses` means any. `before` is the id of the last run already seen, which need not exist any
    more. `id_prefix` is compared with upper-case ids. `limit` is from 1 to 1,000.
    """

    statuses: frozenset[StatusKind] = frozenset()
    parent_id: RunId | None = None
    id_prefix: str = ""
    archived: bool | None = None
    before: RunId | None = None
    limit: int = 20


class EventStore(Protocol):
    """Runs and their events, durably.

    Each method either does the whole of what it says and has it on stable storage before it returns, or
    raises and has done nothing. Calls may come from many tasks at once. A run whose stored form can't be read
    raises `StorageError` (`run_unreadable`) where it is named and never hides or blocks other runs.
    """

    @property
    def commits(self) -> Commits:
        """Tells of each commit, after it is durable."""
        ...

    async def create(self, run_id: RunId, events: Sequence[Event]) -> RunRecord:
        """Begin a run's log with `events`, the first of which is `run.created`.

        Raises:
            Conflict: `run_exists`.
            IllegalEvent, IllegalTransition: the events are no legal beginning of a log.
            TooLarge: an event is over 16 MiB.
        """
        ...

    async def append(
        self, run_id: RunId, events: Sequence[Event], *, expected_seq: int, epoch: int | None = None
    ) -> tuple[StoredEvent, ...]:
        """Add `events`, one or more, behind event `expected_seq`, all or none, in one commit.

        Args:
            run_id: whose log.
            events: in order; each must be legal after the ones before it.
            expected_seq: the sequence number of the log's last event as the caller knows it.
            epoch: the claim under which a worker writes; None for writes that need no claim.

        Raises:
            NotFound: `run_not_found`.
            SeqConflict: the log's last event is another one.
            StaleEpoch: `epoch` is not the run's current one.
            IllegalEvent, IllegalTransition: an event can't follow, or does not hold what its types say.
            TooLarge: an event is over 16 MiB.
            StorageError: the disk did not take it.
        """
        ...

    async def claim(self, run_id: RunId) -> RunRecord:
        """Raise the run's epoch by one, so that no earlier claimant can write any more.

        Raises:
            NotFound: `run_not_found`.
        """
        ...

    async def get(self, run_id: RunId) -> RunRecord:
        """The run's record.

        Raises:
            NotFound: `run_not_found`.
        """
        ...

    async def list(self, query: RunQuery) -> tuple[RunRecord, ...]:
        """At most `query.limit` records, newest first; fewer only where there are no more.

        Raises:
            InvalidInput: `query.limit` is out of its bounds.
        """
        ...

    async def read(self, run_id: RunId, *, after: int = 0, limit: int = 1000) -> tuple[StoredEvent, ...]:
        """At most `limit` events with sequence numbers greater than `after`, in order; none past the end.

        Raises:
            NotFound: `run_not_found`.
        """
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of files and threads. The store can't be used afterwards."""
        ...
