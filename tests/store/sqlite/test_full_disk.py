"""A disk that is full and later has room again: what failed is not there, and the store goes on."""

import os
import resource
import shutil
import subprocess
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from fabro.errors import StorageError
from fabro.store.file_blobs import FileBlobs
from fabro.store.port import EventStore, RunQuery
from fabro.store.sqlite import open_sqlite
from fabro.testing.fake_clock import FakeClock
from tests.store.logs import created, notice, run_ids

pytestmark = pytest.mark.anyio
RUN, OTHER, LATER = run_ids(3)
SMALL = "s" * 2000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("this system does not let us mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventStore]:
    folder = tmp_path / "disk" if "small_disk" in request.fixturenames else tmp_path
    made = open_sqlite(folder / "runs.db", FakeClock(), blobs=FileBlobs(folder / "blobs"))
    for run_id in (RUN, OTHER):
        await made.create(run_id, [created()])
    yield made
    await made.close()


@contextmanager
def largest_file(size: int) -> Generator[None]:
    """No file of this process may grow past `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill(path: Path) -> None:
    """Take all the room that there is."""
    with path.open("wb", buffering=0) as file:
        while free := shutil.disk_usage(path.parent).free:
            file.write(b"\0" * free)


async def append_until_it_fails(store: EventStore) -> StorageError:
    """Add small events until the disk does not take one, and see that this one is not there."""
    for seq in range(1, 10_000):
        try:
            await store.append(RUN, [notice(SMALL), notice(SMALL)], expected_seq=seq * 2 - 1)
        except StorageError as error:
            assert (await store.get(RUN)).last_seq == seq * 2 - 1
            assert len(await store.read(RUN, limit=100_000)) == seq * 2 - 1
            return error
    raise AssertionError("the disk took everything")


async def check_that_it_goes_on(store: EventStore) -> None:
    last = (await store.get(RUN)).last_seq
    stored = await store.append(RUN, [notice("after"), notice("that")], expected_seq=last)
    assert [one.seq for one in stored] == [last + 1, last + 2]
    assert [one.seq for one in await store.read(RUN, limit=100_000)] == list(range(1, last + 3))
    await store.append(OTHER, [notice("z" * 150_000)], expected_seq=1)
    await store.create(LATER, [created()])
    assert len(await store.list(RunQuery())) == 3


async def test_a_full_file_system(small_disk: Path, store: EventStore) -> None:
    filler = small_disk / "filler"
    fill(filler)
    error = await append_until_it_fails(store)
    assert (error.code, error.message.split(": ", 1)[1][:16]) == ("disk_full", "the disk is full")
    with pytest.raises(StorageError, match="No space left"):
        await store.append(OTHER, [notice("y" * 150_000)], expected_seq=1)
    with pytest.raises(StorageError):
        await store.create(LATER, [created(), notice(SMALL), notice(SMALL)])
    assert len(await store.list(RunQuery())) == 2
    assert list((small_disk / "blobs" / "unfinished").iterdir()) == []
    filler.unlink()
    await check_that_it_goes_on(store)
    log = await store.read(RUN, limit=100_000)
    await store.close()
    again = open_sqlite(small_disk / "runs.db", FakeClock(), blobs=FileBlobs(small_disk / "blobs"))
    assert await again.read(RUN, limit=100_000) == log
    assert len(await again.read(OTHER)) == 2
    await again.close()


async def test_a_limit_on_the_size_of_files(store: EventStore, tmp_path: Path) -> None:
    with largest_file((tmp_path / "runs.db-wal").stat().st_size + 30_000):
        error = await append_until_it_fails(store)
    assert error.code in ("disk_full", "storage_error")
    await check_that_it_goes_on(store)


async def test_a_file_system_that_turns_read_only(small_disk: Path, store: EventStore) -> None:
    await store.close()
    await anyio.run_process(["mount", "-o", "remount,ro", str(small_disk)])
    with pytest.raises(StorageError, match="Read-only file system"):
        open_sqlite(small_disk / "runs.db", FakeClock(), blobs=FileBlobs(small_disk / "blobs"))
