"""Writing into a run's log from outside its runner. Above: runs, questions. Below: the store."""

from collections.abc import Callable, Sequence

from fabro.errors import Conflict
from fabro.ids import RunId
from fabro.run.events import Event
from fabro.run.state import RunState
from fabro.store.port import EventStore, RunRecord, SeqConflict

TRIES = 20
"""How often a write is decided again because somebody else wrote first."""
READ_BATCH = 1000


async def fold_state(store: EventStore, run_id: RunId) -> RunState:
    """The run's state as of now.

    Raises:
        NotFound: `run_not_found`.
    """
    state = RunState(run_id=run_id)
    while True:
        batch = await store.read(run_id, after=state.seq, limit=READ_BATCH)
        for stored in batch:
            state.apply(stored)
        if len(batch) < READ_BATCH:
            return state


async def append_by_record(
    store: EventStore, run_id: RunId, choose: Callable[[RunRecord], Sequence[Event]]
) -> RunRecord:
    """Append what `choose` makes of the run's record, nothing if that is empty; the record afterwards.

    Raises:
        NotFound: `run_not_found`.
        Conflict: others write without end.
    """
    for _ in range(TRIES):
        record = await store.get(run_id)
        events = choose(record)
        if not events:
            return record
        try:
            await store.append(run_id, events, expected_seq=record.last_seq)
        except SeqConflict:
            continue
        return await store.get(run_id)
    raise busy(run_id)


def busy(run_id: RunId) -> Conflict:
    """Too many tries."""
    return Conflict(f"run {run_id} changes too fast to be written to", code="run_busy", hint="Try again.")
