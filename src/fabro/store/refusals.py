"""What stores say when they refuse, in the same words whichever it is. Above: memory, sqlite. Below: port."""

from collections.abc import Sequence

from fabro.errors import Conflict, InvalidInput, NotFound, StorageError
from fabro.ids import RunId
from fabro.run.events import Event
from fabro.run.ledger import IllegalEvent
from fabro.store.port import RunQuery, SeqConflict, StaleEpoch

MAX_PAGE = 1000
"""The most runs that one page lists."""


def check_place(run_id: RunId, *, expected_seq: int, last_seq: int, epoch: int | None, current_epoch: int) -> None:
    """Let a writer through that knows the log's end and holds the claim, if it says that it holds one.

    Raises:
        StaleEpoch: another worker has claimed the run since.
        SeqConflict: the log ends elsewhere.
    """
    if epoch is not None and epoch != current_epoch:
        raise StaleEpoch(
            f"run {run_id} was claimed anew: this worker's epoch is {epoch}, the run's is {current_epoch}",
            details={"epoch": current_epoch},
        )
    if expected_seq != last_seq:
        raise SeqConflict(
            f"run {run_id} ends at event {last_seq}, not at {expected_seq}", details={"last_seq": last_seq}
        )


def check_query(query: RunQuery) -> None:
    """Refuse a page of an impossible size.

    Raises:
        InvalidInput: `limit` is not from 1 to 1,000.
    """
    if not 1 <= query.limit <= MAX_PAGE:
        raise InvalidInput(f"limit is {query.limit}; wanted a number from 1 to {MAX_PAGE}")


def check_not_empty(events: Sequence[Event]) -> None:
    """Refuse to write nothing.

    Raises:
        IllegalEvent: there is no event.
    """
    if not events:
        raise IllegalEvent("events is empty; a log begins with, and grows by, one event or more")


def no_such_run(run_id: RunId) -> NotFound:
    """The run that was named is not there."""
    return NotFound(f"no run {run_id!r}", code="run_not_found")


def run_exists(run_id: RunId) -> Conflict:
    """The id of a run to be created is taken."""
    return Conflict(f"run {run_id} exists already", code="run_exists")


def unreadable(run_id: RunId, reason: str) -> StorageError:
    """What is stored of the run can't be understood."""
    return StorageError(
        f"run {run_id} can't be read: {reason}",
        code="run_unreadable",
        hint="Other runs are not affected. A newer version of fabro may have written it, or its file is damaged.",
    )


def closed() -> StorageError:
    """The store is used after its end."""
    return StorageError("the store is closed", code="storage_closed")
