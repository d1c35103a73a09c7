"""Writing into a run's log from outside its runner. Above: runs, questions. Below: the store."""

from collections.abc import Callable, Sequence
from contextlib import aclosing

from fabro.errors import Conflict
from fabro.ids import RunId
from fabro.run.events import Event
from fabro.run.state import RunState
from fabro.store.feed import read_all
from fabro.store.port import EventStore, RunRecord, SeqConflict

TRIES = 200
"""How often a write is decided again because somebody else, a run that loops fast for instance, wrote first."""


async def fold_state(store: EventStore, run_id: RunId) -> RunState:
    """The run's state as of now.

    Raises:
        NotFound: `run_not_found`.
    """
    state = RunState(run_id=run_id)
    async with aclosing(read_all(store, run_id)) as log:
        async for stored in log:
            state.apply(stored)
    return state


async def append_by_record(
    store: EventStore, run_id: RunId, choose: Callable[[RunRecord], Sequence[Event]], wake: Callable[[RunId], None]
) -> RunRecord:
    """Append what `choose` makes of the run's record, nothing if that is empty; the record afterwards. `wake` is
    called as soon as the events are durable, whatever becomes of the caller then.

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
        wake(run_id)
        return await store.get(run_id)
    raise busy(run_id)


def busy(run_id: RunId) -> Conflict:
    """Too many tries."""
    return Conflict(f"run {run_id} changes too fast to be written to", code="run_busy", hint="Try again.")
