"""A run's log as a stream: what is stored, then what comes. Above: SSE, waits, attach. Below: the store's port."""

from collections.abc import AsyncGenerator

from fabro.ids import RunId
from fabro.run.events import StoredEvent
from fabro.store.port import EventStore

BATCH = 256
"""Events read from the store at once while following, where a slow reader may leave them lying."""
PAGE = 1000
"""Events read from the store at once by whoever wants them all."""


async def read_all(store: EventStore, run_id: RunId, *, after: int = 0) -> AsyncGenerator[StoredEvent]:
    """Every stored event of a run with a sequence number greater than `after`; it ends where the log ends now.

    Raises:
        NotFound: `run_not_found`.
    """
    while True:
        batch = await store.read(run_id, after=after, limit=PAGE)
        for stored in batch:
            after = stored.seq
            yield stored
        if len(batch) < PAGE:
            return


async def follow(store: EventStore, run_id: RunId, *, after: int = 0) -> AsyncGenerator[StoredEvent]:
    """Every event of a run with a sequence number greater than `after`, then each new one as it is committed:
    no gap and no repeat. It never ends by itself; a slow reader is caught up from the store.

    Raises:
        NotFound: `run_not_found`.
    """
    with store.commits.watch([run_id]) as watch:
        while True:
            batch = await store.read(run_id, after=after, limit=BATCH)
            for stored in batch:
                after = stored.seq
                yield stored
            if len(batch) < BATCH:
                await watch.changed()
