"""The store beside bare SQLite on the same disk, in one run: appends, bytes, list pages, codec.

Every append is durable when it returns (WAL, synchronous=FULL); the floor commits the same rows with the same care
and does nothing else, once on the measuring thread and once through a thread that answers an event loop.
"""

import asyncio
import queue
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

import report
from fabro.clock import SystemClock
from fabro.ids import NodeId, RunId, StageId, VersionId, new_run_id
from fabro.run import events as e
from fabro.run.spec import RunSpec, WorkflowName
from fabro.run.status import StatusKind
from fabro.run.target import NoTarget
from fabro.store.codec import decode, encode
from fabro.store.memory_blobs import MemoryBlobs
from fabro.store.port import EventStore, RunQuery
from fabro.store.sqlite import SqliteStore, open_sqlite
from fabro.store.sqlite.connection import connect
from fabro.store.sqlite.migrate import migrate

_T = TypeVar("_T")
STEPS = 400
CONCURRENT_RUNS, CONCURRENT_STEPS = 100, 10
LONG = 2000
MANY_RUNS, FEW_RUNS = 100_000, 1000
PAGE = 50
SPEC = RunSpec(
    version_id=VersionId("0" * 64),
    workflow=WorkflowName(graph="Bench", slug="bench"),
    target=NoTarget(),
    title="Bench",
)
RUNNING: list[e.Event] = [e.RunCreated(spec=SPEC), e.RunRunnable(), e.RunStarting(), e.RunRunning()]


def step(ordinal: int) -> list[e.Event]:
    """The four events of a stage without effects."""
    stage = StageId(f"build@{ordinal}")
    return [
        e.StageStarted(stage_id=stage, handler_type="conditional"),
        e.StageCompleted(stage_id=stage, duration_ms=12),
        e.EdgeSelected(from_node=NodeId("build"), to_node=NodeId("build"), reason="unconditional"),
        e.CheckpointCompleted(current_node=NodeId("build"), next_node_id=NodeId("build")),
    ]


def open_store(folder: Path) -> SqliteStore:
    return open_sqlite(folder / "runs.db", SystemClock(), blobs=MemoryBlobs())


async def grow(store: EventStore, run_id: RunId, steps: int) -> None:
    """Append steps one after another, each awaited."""
    seq = (await store.get(run_id)).last_seq
    for ordinal in range((seq - len(RUNNING)) // 4 + 1, (seq - len(RUNNING)) // 4 + 1 + steps):
        await store.append(run_id, step(ordinal), expected_seq=seq)
        seq += 4


async def create(store: EventStore, count: int) -> list[RunId]:
    """Running runs."""
    ids = [new_run_id(SystemClock().now()) for _ in range(count)]
    for run_id in ids:
        await store.create(run_id, RUNNING)
    return ids


def steps_per_second(runs: int, steps: int) -> float:
    async def measure(folder: Path) -> float:
        store = open_store(folder)
        ids = await create(store, runs)
        begun = time.perf_counter()
        async with anyio.create_task_group() as group:
            for run_id in ids:
                group.start_soon(grow, store, run_id, steps)
        spent = time.perf_counter() - begun
        await store.close()
        return runs * steps / spent

    return in_folder(measure)


def bytes_per_step(runs: int) -> float:
    """Growth of the file by `LONG` steps, indexes and free room in it included."""

    async def measure(folder: Path) -> float:
        sizes: list[int] = []
        for steps in (0, LONG // runs):
            store = open_store(folder)
            ids = [record.summary.id for record in await store.list(RunQuery(limit=runs))]
            async with anyio.create_task_group() as group:
                for run_id in ids or await create(store, runs):
                    group.start_soon(grow, store, run_id, steps)
            await store.close()
            sizes.append((await anyio.Path(folder / "runs.db").stat()).st_size)
        return (sizes[1] - sizes[0]) / LONG

    return in_folder(measure)


def commit_rows(connection: sqlite3.Connection, seq: int) -> None:
    """What one step leaves in the file, and nothing besides."""
    connection.execute("BEGIN IMMEDIATE")
    rows = [(seq + n, SystemClock().now().microsecond, "stage.completed", "x" * 60) for n in range(4)]
    connection.executemany("INSERT INTO events VALUES (1, ?, ?, ?, ?, NULL)", rows)
    connection.execute("UPDATE runs SET last_seq = ? WHERE no = 1", (seq + 3,))
    connection.execute("COMMIT")


def floor_connection(folder: Path) -> sqlite3.Connection:
    connection = connect(folder / "floor.db")
    migrate(connection, folder / "floor.db")
    connection.execute("INSERT INTO runs VALUES (1, 'R', 'running', NULL, 0, 0, 0, 0, '{}')")
    return connection


def bare_commits_per_second() -> float:
    async def measure(folder: Path) -> float:
        with closing(floor_connection(folder)) as connection:
            begun = time.perf_counter()
            for seq in range(1, STEPS * 4, 4):
                commit_rows(connection, seq)
            return STEPS / (time.perf_counter() - begun)

    return in_folder(measure)


def threaded_commits_per_second() -> float:
    async def measure(folder: Path) -> float:
        loop = asyncio.get_running_loop()
        waiting: queue.SimpleQueue[tuple[int, asyncio.Future[None]] | None] = queue.SimpleQueue()

        def write() -> None:
            with closing(floor_connection(folder)) as connection:
                while (item := waiting.get()) is not None:
                    commit_rows(connection, item[0])
                    loop.call_soon_threadsafe(item[1].set_result, None)

        thread = threading.Thread(target=write)
        thread.start()
        begun = time.perf_counter()
        for seq in range(1, STEPS * 4, 4):
            done = loop.create_future()
            waiting.put((seq, done))
            await done
        spent = time.perf_counter() - begun
        waiting.put(None)
        await anyio.to_thread.run_sync(thread.join)
        return STEPS / spent

    return in_folder(measure)


def page_milliseconds(runs: int, *queries: RunQuery) -> list[float]:
    """The median time of a list's page among so many runs, one of which in a thousand runs."""

    async def measure(folder: Path) -> list[float]:
        store = open_store(folder)
        limiter = anyio.CapacityLimiter(256)

        async def add(number: int) -> None:
            async with limiter:
                rest = RUNNING[1:] if number % 1000 == 0 else []
                await store.create(new_run_id(SystemClock().now()), [RUNNING[0], *rest])

        for first in range(0, runs, 1000):
            async with anyio.create_task_group() as group:
                for number in range(first, first + 1000):
                    group.start_soon(add, number)
        spent = [await median_of(lambda query=query: store.list(query)) for query in queries]
        await store.close()
        return spent

    return in_folder(measure)


async def median_of(call: Callable[[], Awaitable[object]]) -> float:
    spent: list[float] = []
    for _ in range(50):
        begun = time.perf_counter()
        await call()
        spent.append((time.perf_counter() - begun) * 1000)
    return statistics.median(spent)


def microseconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    for _ in range(10_000):
        work()
    return (time.process_time() - begun) * 100


def in_folder(measure: Callable[[Path], Awaitable[_T]]) -> _T:
    """Measure in a folder of its own, on the disk where temporary files are."""
    with tempfile.TemporaryDirectory(prefix="fabro-bench-") as folder:
        return anyio.run(measure, Path(folder))


def measured() -> list[report.Row]:
    measures = (
        bare_commits_per_second,
        threaded_commits_per_second,
        lambda: steps_per_second(1, STEPS),
        lambda: steps_per_second(CONCURRENT_RUNS, CONCURRENT_STEPS),
    )
    rounds = [[measure() for measure in measures] for _ in range(report.REPEATS)]  # in turn: the disk is shared
    bare, threaded, one, many = (statistics.median(figures) for figures in zip(*rounds, strict=True))
    small = RunQuery(limit=PAGE)
    rare = RunQuery(limit=PAGE, statuses=frozenset({StatusKind.RUNNING}), archived=False)
    few = page_milliseconds(FEW_RUNS, small)[0]
    page, by_status = page_milliseconds(MANY_RUNS, small, rare)
    event = e.StageStarted(stage_id=StageId("build@1"), handler_type="conditional")
    encoded = encode(event)
    size, mixed = bytes_per_step(1), bytes_per_step(100)
    reading = microseconds(lambda: decode(encoded.name, encoded.body))
    writing = microseconds(lambda: encode(event))
    return [
        report.Row(name="steps appended, one run; floor: bare commits", unit="1/s", ours=one, floor=bare),
        report.Row(
            name="steps appended, one run; floor: commits through a thread", unit="1/s", ours=one, floor=threaded
        ),
        report.Row(name="steps appended, 100 runs at once; floor: bare commits", unit="1/s", ours=many, floor=bare),
        report.Row(name="database per step, one run", unit="B", ours=size, goal="<= 1024", met=size <= 1024),
        report.Row(
            name="database per step, 100 runs mixed", unit="B", ours=mixed, goal="<= 1024", met=mixed <= 1024
        ),
        report.Row(
            name="list page of 50 at 100,000 runs; floor: at 1,000",
            unit="ms",
            ours=page,
            floor=few,
            goal="<= 10",
            met=page <= 10,
        ),
        report.Row(
            name="list page of 50 by a rare status at 100,000 runs",
            unit="ms",
            ours=by_status,
            goal="<= 10",
            met=by_status <= 10,
        ),
        report.Row(
            name="encode an event, read back included", unit="us", ours=writing, goal="<= 10", met=writing <= 10
        ),
        report.Row(name="decode an event", unit="us", ours=reading, goal="<= 10", met=reading <= 10),
    ]


if __name__ == "__main__":
    as_json = report.wants_json(__doc__ or "")
    report.show("The event store", measured(), as_json=as_json)
