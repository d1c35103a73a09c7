"""Every store in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fabro.store.memory import MemoryStore
from fabro.store.memory_blobs import MemoryBlobs
from fabro.store.port import EventStore
from fabro.store.sqlite import open_sqlite
from fabro.testing.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[EventStore]:
    made: EventStore
    if request.param == "memory":
        made = MemoryStore(clock)
    else:
        made = open_sqlite(tmp_path / "runs.db", clock, blobs=MemoryBlobs())
    yield made
    await made.close()
