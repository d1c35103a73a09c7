"""What the writer's thread does inside a transaction. Above: the store. Below: statements, head.

These are plain steps on a connection: the writer begins, commits and rolls back.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fabro.clock import to_millis
from fabro.ids import BlobId, RunId
from fabro.projections.summary import RunSummary
from fabro.run.events import Event, StoredEvent
from fabro.store import head, refusals
from fabro.store.codec import encode_summary
from fabro.store.head import Head
from fabro.store.port import RunRecord
from fabro.store.sqlite.reads import record_of, storable
from fabro.store.sqlite.statements import statements

MAX_HEADS = 1024
"""Runs whose folds the writer keeps."""


class ColdRunError(Exception):
    """The writer does not have the run's fold; ask again with one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """An event and how it goes into its row: `body`, or where that is large, the blob that holds it."""

    event: Event
    name: str
    body: str | None
    blob: BlobId | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a writer thinks that a log ends, and the claim that it holds."""

    expected_seq: int
    epoch: int | None


class Heads:
    """The folds of the runs that were written last. Only the writer's thread touches it."""

    def __init__(self) -> None:
        self._heads: OrderedDict[RunId, Head] = OrderedDict()

    def find(self, run_id: RunId, *, last_seq: int, spare: Head | None) -> Head:
        """The run's fold up to `last_seq`.

        Raises:
            ColdRunError: it is not here, and `spare` is not it.
        """
        for known in (self._heads.get(run_id), spare):
            if known is not None and known.last_seq == last_seq:
                return known
        raise ColdRunError

    def keep(self, run_id: RunId, kept: Head) -> None:
        """Remember a fold, and forget the one that was used least lately if there are too many."""
        self._heads[run_id] = kept
        self._heads.move_to_end(run_id)
        if len(self._heads) > MAX_HEADS:
            self._heads.popitem(last=False)

    def drop(self, run_id: RunId) -> None:
        """Forget a fold that may hold what was not committed."""
        self._heads.pop(run_id, None)


def write_new_run(
    connection: sqlite3.Connection, heads: Heads, run_id: RunId, written: Sequence[Written], now: datetime
) -> RunRecord:
    """Write a new run's row and its first events."""
    if connection.execute(statements()["find_place"], (run_id,)).fetchone() is not None:
        raise refusals.run_exists(run_id)
    new, stored = head.begin(run_id, [one.event for one in written], now)
    (run_no,) = connection.execute(
        statements()["insert_run"],
        (run_id, *_end_columns(new), *_summary_columns(new.summary)),
    ).fetchone()
    _insert_events(connection, run_no, stored, written)
    heads.keep(run_id, new)
    return new.record(epoch=0)


def write_events(
    connection: sqlite3.Connection,
    heads: Heads,
    run_id: RunId,
    written: Sequence[Written],
    now: datetime,
    *,
    place: Place,
    spare: Head | None,
) -> tuple[StoredEvent, ...]:
    """Write events behind a run's last one, and its summary if they change it.

    Raises:
        ColdRunError: neither `heads` nor `spare` has the run's fold.
    """
    found = connection.execute(statements()["find_place"], (storable(run_id),)).fetchone()
    if found is None:
        raise refusals.no_such_run(run_id)
    run_no, last_seq, current_epoch = found
    refusals.check_place(
        run_id,
        expected_seq=place.expected_seq,
        last_seq=last_seq,
        epoch=place.epoch,
        current_epoch=current_epoch,
    )
    end = heads.find(run_id, last_seq=last_seq, spare=spare)
    before = end.summary
    stored = end.extend([one.event for one in written], now)
    _insert_events(connection, run_no, stored, written)
    if end.summary is before:
        connection.execute(statements()["move_end"], (*_end_columns(end), run_no))
    else:
        _update_summary(connection, run_no, end)
    heads.keep(run_id, end)
    return stored


def write_claim(connection: sqlite3.Connection, run_id: RunId) -> RunRecord:
    """Make earlier claims of a run void.

    Raises:
        Undecodable: the run's summary can't be read.
    """
    row = connection.execute(statements()["raise_epoch"], (storable(run_id),)).fetchone()
    if row is None:
        raise refusals.no_such_run(run_id)
    return record_of(row)


def write_summary(connection: sqlite3.Connection, folded: Head) -> None:
    """Replace a summary that could not be read by its fold, unless the log has grown since."""
    run_id = folded.summary.id
    found = connection.execute(statements()["find_place"], (run_id,)).fetchone()
    if found is not None and found[1] == folded.last_seq:
        _update_summary(connection, found[0], folded)


def _update_summary(connection: sqlite3.Connection, run_no: int, end: Head) -> None:
    columns = (*_end_columns(end), *_summary_columns(end.summary))
    connection.execute(statements()["update_summary"], (*columns, run_no))


def _insert_events(
    connection: sqlite3.Connection, run_no: int, stored: Sequence[StoredEvent], written: Sequence[Written]
) -> None:
    connection.executemany(
        statements()["insert_event"],
        [
            (run_no, place.seq, to_millis(place.at), one.name, one.body, one.blob)
            for place, one in zip(stored, written, strict=True)
        ],
    )


def _end_columns(end: Head) -> tuple[int, int]:
    return (end.last_seq, to_millis(end.last_event_at))


def _summary_columns(summary: RunSummary) -> tuple[str, str | None, int, str]:
    return (summary.status.kind, summary.parent_id, int(summary.archived), encode_summary(summary))
