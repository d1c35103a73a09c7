"""What holds for the SQLite file beyond the port: it outlives the process, and damage to one run stays with it."""

import sqlite3
import stat
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from fabro.errors import StorageError
from fabro.ids import RunId
from fabro.run.events import UnknownEvent
from fabro.run.status import IllegalTransition, StatusKind
from fabro.store.file_blobs import FileBlobs
from fabro.store.port import RunQuery
from fabro.store.sqlite import SqliteStore, open_sqlite
from fabro.store.sqlite.connection import BUSY_TIMEOUT
from fabro.store.sqlite.store import INLINE_BYTES
from fabro.store.sqlite.writes import MAX_HEADS
from fabro.testing.fake_clock import FakeClock
from tests.store.logs import FAILED, TO_RUNNING, created, notice, run_ids, visit

pytestmark = pytest.mark.anyio
RUN, OTHER = run_ids(2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@asynccontextmanager
async def opened(path: Path, busy_timeout: timedelta = BUSY_TIMEOUT) -> AsyncGenerator[SqliteStore]:
    store = open_sqlite(path, FakeClock(), blobs=FileBlobs(path.parent / "blobs"), busy_timeout=busy_timeout)
    try:
        yield store
    finally:
        await store.close()


async def fill(path: Path) -> None:
    """Two runs of five events, closed again."""
    async with opened(path) as store:
        for run_id in (RUN, OTHER):
            await store.create(run_id, [created(), *TO_RUNNING, notice()])


def change(path: Path, statement: str, *values: object) -> None:
    """Do to the file what no version of the product does."""
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(statement, values)


def rows(path: Path, statement: str) -> Sequence[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as other:
        return other.execute(statement).fetchall()


async def listed(store: SqliteStore, query: RunQuery) -> Sequence[RunId]:
    return [record.summary.id for record in await store.list(query)]


async def test_everything_outlives_the_store(path: Path) -> None:
    async with opened(path) as store:
        await store.create(RUN, [created(), *TO_RUNNING, *visit(1)])
        claimed = await store.claim(RUN)
        log = await store.read(RUN)
    async with opened(path) as store:
        assert await store.get(RUN) == claimed
        assert await store.read(RUN) == log
        assert await store.list(RunQuery()) == (claimed,)
        await store.append(RUN, visit(2), expected_seq=8, epoch=1)


async def test_the_files_are_for_their_owner_only(path: Path) -> None:
    async with opened(path) as store:
        await store.create(RUN, [created()])
        files = [file for file in path.parent.iterdir() if file.is_file()]
        assert {file.name for file in files} == {"runs.db", "runs.db-wal", "runs.db-shm"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_large_events_are_blobs(path: Path) -> None:
    text = "x" * INLINE_BYTES
    async with opened(path) as store:
        await store.create(RUN, [created(), notice(text), notice(text[:-100]), notice(text)])
        log = await store.read(RUN)
    kept = rows(path, "SELECT body IS NULL, blob FROM events ORDER BY seq")
    assert [in_blob for in_blob, _ in kept] == [0, 1, 0, 1]
    assert kept[1] == kept[3]
    async with opened(path) as store:
        assert await store.read(RUN) == log
        assert log[1].event == notice(text)
        await store.append(RUN, [notice()], expected_seq=4)


async def test_a_log_of_more_than_a_page_is_folded(path: Path) -> None:
    async with opened(path) as store:
        await store.create(RUN, [created(), *(notice(str(n)) for n in range(2500))])
    async with opened(path) as store:
        stored = await store.append(RUN, TO_RUNNING, expected_seq=2501)
        assert stored[-1].seq == 2504
        with pytest.raises(IllegalTransition):
            await store.append(RUN, [*visit(1), *TO_RUNNING], expected_seq=2504)
        await store.append(RUN, visit(1), expected_seq=2504)


async def test_more_runs_than_the_writer_remembers(path: Path) -> None:
    ids = run_ids(MAX_HEADS + 10)
    async with opened(path) as store:
        for run_id in ids:
            await store.create(run_id, [created()])
        for run_id in (*ids[:5], *ids[-5:]):
            await store.append(run_id, TO_RUNNING, expected_seq=1)
        running = await listed(store, RunQuery(statuses=frozenset({StatusKind.RUNNING})))
        assert running == [*ids[:-6:-1], *ids[4::-1]]


async def test_a_reader_that_never_ends_holds_nobody_up(path: Path) -> None:
    await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        before = other.execute("SELECT count(*) FROM events").fetchone()
        async with opened(path) as store:
            for seq in range(5, 50):
                await store.append(RUN, [notice()], expected_seq=seq)
            assert len(await store.read(RUN)) == 50
        assert other.execute("SELECT count(*) FROM events").fetchone() == before


async def test_another_program_that_writes_is_waited_for_and_then_told(path: Path) -> None:
    await fill(path)
    async with opened(path, busy_timeout=timedelta(milliseconds=50)) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match="another program has it locked") as caught:
                await store.append(RUN, [notice()], expected_seq=5)
            assert caught.value.code == "storage_locked"
            assert len(await store.read(RUN)) == 5
            other.execute("ROLLBACK")
        await store.append(RUN, [notice()], expected_seq=5)


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        ("body = 'garbage'", "event 5, run.notice: Invalid JSON"),
        ("body = CAST(x'7bff7d' AS TEXT)", "event 5, run.notice: Invalid JSON"),
        ("body = '{}'", "event 5, run.notice: level: Field required"),
        ("name = 'run.created'", "event 5, run.created: spec"),
        ("body = NULL, blob = 'é'", "event 5: no blob"),
        ("body = NULL, blob = '" + "ab" * 32 + "'", "event 5: no blob"),
        ("seq = 6", "event 5 is missing"),
    ],
)
async def test_a_damaged_event_hurts_its_own_run_only(path: Path, assignment: str, reason: str) -> None:
    await fill(path)
    change(path, f"UPDATE events SET {assignment} WHERE run_no = 1 AND seq = 5")
    async with opened(path) as store:
        for call in (lambda: store.read(RUN), lambda: store.append(RUN, [notice()], expected_seq=5)):
            with pytest.raises(StorageError, match=reason) as caught:
                await call()
            assert caught.value.code == "run_unreadable"
            assert RUN in caught.value.message
        assert await listed(store, RunQuery()) == [OTHER, RUN]
        assert len(await store.read(RUN, limit=4)) == 4
        await store.append(OTHER, [notice()], expected_seq=5)


async def test_a_log_that_is_not_legal_takes_no_more(path: Path) -> None:
    await fill(path)
    change(path, "UPDATE events SET name = 'run.unblocked', body = '{}' WHERE run_no = 1 AND seq = 2")
    async with opened(path) as store:
        with pytest.raises(StorageError, match="invalid status transition") as caught:
            await store.append(RUN, [notice()], expected_seq=5)
        assert caught.value.code == "run_unreadable"
        assert len(await store.read(RUN)) == 5


async def test_events_of_a_newer_version_are_kept(path: Path) -> None:
    await fill(path)
    change(path, """UPDATE events SET name = 'run.beamed', body = '{"to":[1]}' WHERE run_no = 1 AND seq = 5""")
    async with opened(path) as store:
        (stored,) = await store.read(RUN, after=4)
        assert stored.event == UnknownEvent(name="run.beamed", properties={"to": [1]})
        await store.append(RUN, [notice(), FAILED], expected_seq=5)


BAD_SUMMARY = ["''", "'{}'", "'garbage'", "CAST(x'ff' AS TEXT)"]


@pytest.mark.parametrize("summary", BAD_SUMMARY)
async def test_a_summary_that_cannot_be_read_is_folded_anew(path: Path, summary: str) -> None:
    await fill(path)
    async with opened(path) as store:
        whole = await store.list(RunQuery())
    for call in ("get", "list", "claim", "append"):
        change(path, f"UPDATE runs SET summary = {summary}, epoch = 0 WHERE no = 1")
        async with opened(path) as store:
            if call == "get":
                assert await store.get(RUN) == whole[1]
            elif call == "list":
                assert await store.list(RunQuery()) == whole
            elif call == "claim":
                assert (await store.claim(RUN)).summary == whole[1].summary
            else:
                await store.append(RUN, [FAILED], expected_seq=5)
        assert rows(path, "SELECT summary LIKE '{\"id\":%' FROM runs WHERE no = 1") == [(1,)]


@pytest.mark.parametrize("summary", BAD_SUMMARY)
async def test_a_run_of_which_nothing_can_be_read_is_passed_over(path: Path, summary: str) -> None:
    ids = run_ids(5)
    async with opened(path) as store:
        for run_id in ids:
            await store.create(run_id, [created()])
    change(path, f"UPDATE runs SET summary = {summary} WHERE no IN (2, 4)")
    change(path, "UPDATE events SET body = '{}' WHERE run_no IN (2, 4)")
    async with opened(path) as store:
        with capture_logs() as logs:
            assert await listed(store, RunQuery(limit=2)) == [ids[4], ids[2]]
            assert await listed(store, RunQuery(limit=2, before=ids[2])) == [ids[0]]
            assert await listed(store, RunQuery(archived=False)) == [ids[4], ids[2], ids[0]]
        assert {(log["log_level"], log["run_id"]) for log in logs} == {("warning", ids[1]), ("warning", ids[3])}
        for call in (lambda: store.get(ids[1]), lambda: store.claim(ids[1]), lambda: store.read(ids[1])):
            with pytest.raises(StorageError) as caught:
                await call()
            assert caught.value.code == "run_unreadable"
    assert rows(path, "SELECT DISTINCT epoch FROM runs") == [(0,)]


async def test_a_damaged_file_is_told(path: Path) -> None:
    await fill(path)
    change(path, "VACUUM")
    content = await anyio.Path(path).read_bytes()
    await anyio.Path(path).write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    async with opened(path) as store:
        with pytest.raises(StorageError, match="damaged") as caught:
            await store.read(RUN)
        assert caught.value.code == "storage_corrupt"
        with pytest.raises(StorageError):
            await store.append(RUN, [notice()], expected_seq=5)


@pytest.mark.parametrize(
    ("content", "code"), [(b"this is a letter and no database at all" * 100, "storage_corrupt")]
)
def test_a_file_that_is_no_database(path: Path, content: bytes, code: str) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageError, match="no SQLite database") as caught:
        open_sqlite(path, FakeClock(), blobs=FileBlobs(path.parent / "blobs"))
    assert caught.value.code == code
    assert path.read_bytes() == content


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing" / "runs.db", tmp_path / "file" / "runs.db"):
        with pytest.raises(StorageError, match="database"):
            open_sqlite(path, FakeClock(), blobs=FileBlobs(tmp_path / "blobs"))
