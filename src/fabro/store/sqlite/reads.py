"""What the readers' threads look up. Above: the store, writes. Below: statements, codec."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fabro.clock import from_millis
from fabro.ids import BlobId, RunId
from fabro.run.events import StoredEvent
from fabro.run.status import StatusKind
from fabro.store import codec, refusals
from fabro.store.port import RunQuery, RunRecord
from fabro.store.query import id_range
from fabro.store.sqlite.statements import statements

_MOST = 2**63 - 1
"""The largest number that a column holds."""

RunRow: TypeAlias = "tuple[bytes, int, int, int, bytes]"
"""Id, last_seq, last_at_ms, epoch, summary."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """An event whose body is a blob."""

    seq: int
    at_ms: int
    name: str
    blob: BlobId


def record_of(row: RunRow) -> RunRecord:
    """A row as the store gives it out.

    Raises:
        Undecodable: its summary can't be read.
    """
    _, last_seq, last_at_ms, epoch, summary = row
    return RunRecord(
        summary=codec.decode_summary(summary),
        last_seq=last_seq,
        last_event_at=from_millis(last_at_ms),
        epoch=epoch,
    )


def find_run(connection: sqlite3.Connection, run_id: RunId) -> RunRow:
    """One run's row.

    Raises:
        NotFound: `run_not_found`.
    """
    row = connection.execute(statements()["get_run"], (storable(run_id),)).fetchone()
    if row is None:
        raise refusals.no_such_run(run_id)
    return row


def page_of_runs(connection: sqlite3.Connection, query: RunQuery) -> Sequence[RunRow]:
    """The rows that a query means, newest first. Each part is read in the order of an index and none is sorted."""
    low, high = (storable(end) for end in id_range(query))
    common: Mapping[str, str | int] = {"low": low, "high": high, "limit": query.limit}
    archived = (0, 1) if query.archived is None else (int(query.archived),)
    statuses = sorted(query.statuses or StatusKind)
    if query.parent_id is not None:
        chosen = {
            "parent_id": storable(query.parent_id),
            "statuses": json.dumps(statuses),
            "archived": json.dumps(archived),
        }
        return connection.execute(statements()["list_children"], {**common, **chosen}).fetchall()
    if not query.statuses and query.archived is None:
        return connection.execute(statements()["list_runs"], common).fetchall()
    found: list[RunRow] = []
    for status in statuses:
        for flag in archived:
            chosen = {**common, "status": status, "archived": flag}
            found += connection.execute(statements()["list_runs_of_status"], chosen)
    return sorted(found, reverse=True)[: query.limit]


def page_of_events(
    connection: sqlite3.Connection, run_id: RunId, *, after: int, limit: int
) -> Sequence[StoredEvent | Elsewhere]:
    """Events behind a place, decoded unless they are elsewhere.

    Raises:
        NotFound: `run_not_found`.
        StorageError: `run_unreadable`.
    """
    start, most = max(0, min(after, _MOST)), max(0, min(limit, _MOST))
    rows = connection.execute(statements()["read_events"], (storable(run_id), start, most)).fetchall()
    if not rows:
        find_run(connection, run_id)
    for expected, row in enumerate(rows, start + 1):
        if row[0] != expected:
            raise refusals.unreadable(run_id, f"event {expected} is missing")
    return [_event_of(run_id, row) for row in rows]


def decoded(run_id: RunId, seq: int, at_ms: int, name: str, body: bytes) -> StoredEvent:
    """An event in its place.

    Raises:
        StorageError: `run_unreadable`.
    """
    try:
        event = codec.decode(name, body)
    except codec.Undecodable as error:
        raise refusals.unreadable(run_id, f"event {seq}, {error.message}") from error
    return StoredEvent(run_id=run_id, seq=seq, at=from_millis(at_ms), event=event)


def storable(text: str) -> str:
    """Text that can be compared with a column; what UTF-8 can't hold is in none, and becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _event_of(run_id: RunId, row: "tuple[int, int, bytes, bytes | None, bytes | None]") -> StoredEvent | Elsewhere:
    seq, at_ms, name_bytes, body, blob = row
    name = name_bytes.decode("utf-8", "replace")
    if body is None:
        return Elsewhere(seq=seq, at_ms=at_ms, name=name, blob=BlobId((blob or b"").decode("ascii", "replace")))
    return decoded(run_id, seq, at_ms, name, body)
