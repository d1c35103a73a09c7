"""kill -9 at any moment: what was acknowledged is there, and the log is whole and legal."""

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabro.clock import SystemClock
from fabro.ids import RunId
from fabro.run.events import StoredEvent
from fabro.run.ledger import check_log
from fabro.store.file_blobs import FileBlobs
from fabro.store.port import EventStore
from fabro.store.sqlite import open_sqlite

pytestmark = pytest.mark.anyio
KILLS = 20


def appended_until_killed(folder: Path, lines: int) -> Mapping[RunId, int]:
    """Let a process append, kill it after so many acknowledgements, and tell the last ones of each run."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    acknowledged: dict[RunId, int] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.store.sqlite.appender", str(folder)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            if number == lines:
                process.kill()
            if line.endswith("\n"):
                run_id, seq = line.split()
                acknowledged[RunId(run_id)] = int(seq)
    assert process.returncode == -9
    return acknowledged


async def whole_log(store: EventStore, run_id: RunId) -> list[StoredEvent]:
    log: list[StoredEvent] = []
    while page := await store.read(run_id, after=len(log)):
        log += page
    return log


@pytest.mark.slow
async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    chance = random.Random(20)
    for _ in range(KILLS):
        acknowledged = appended_until_killed(tmp_path, chance.randrange(150))
        store = open_sqlite(tmp_path / "runs.db", SystemClock(), blobs=FileBlobs(tmp_path / "blobs"))
        for run_id, seq in acknowledged.items():
            log = await whole_log(store, run_id)
            assert len(log) >= seq
            check_log(log)
            record = await store.get(run_id)
            assert record.last_seq == len(log)
            assert record.last_event_at == log[-1].at
        await store.close()
        assert list((tmp_path / "blobs" / "unfinished").iterdir()) == []
