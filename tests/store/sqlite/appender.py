"""A process that appends to a store until it is killed, and says on standard output what was acknowledged.

usage: python -m tests.store.sqlite.appender FOLDER
Each line is `RUN SEQ`: the run's log has been acknowledged up to there.
"""

import sys
from pathlib import Path

import anyio

from fabro.clock import SystemClock
from fabro.ids import RunId
from fabro.store.file_blobs import FileBlobs
from fabro.store.port import EventStore, RunQuery
from fabro.store.sqlite import open_sqlite
from tests.store.logs import TO_RUNNING, created, notice, run_ids, visit

RUNS = run_ids(5)


async def grow(store: EventStore, run_id: RunId) -> None:
    """Append for ever, resuming where the log stands."""
    known = {record.summary.id: record for record in await store.list(RunQuery())}
    record = known.get(run_id) or await store.create(run_id, [created(), *TO_RUNNING])
    record = await store.claim(run_id)
    seq, ordinal = record.last_seq, 0
    for stored in await store.read(run_id, limit=100_000):
        ordinal += stored.event.name == "stage.started"
    while True:
        ordinal += 1
        large = [notice(str(ordinal) * 60_000)] if ordinal % 20 == 0 else []
        stored = await store.append(run_id, [*visit(ordinal), *large], expected_seq=seq, epoch=record.epoch)
        seq = stored[-1].seq
        sys.stdout.write(f"{run_id} {seq}\n")
        sys.stdout.flush()


async def main(folder: Path) -> None:
    """Grow every run at once."""
    store = open_sqlite(folder / "runs.db", SystemClock(), blobs=FileBlobs(folder / "blobs"))
    async with anyio.create_task_group() as group:
        for run_id in RUNS:
            group.start_soon(grow, store, run_id)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
