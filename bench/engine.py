"""The engine beside LangGraph with its SQLite checkpointer, in one run: no-op steps, loops, commands, bytes.

Ours goes the whole way from a start request to the run's last event on disk; every event that a client could see is
durable (WAL, synchronous=FULL). LangGraph checkpoints each step (durability "sync").
"""

import os
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import anyio

import langgraph_peer
import report
from fabro.assembly import System, open_system
from fabro.calls import RunIntent
from fabro.clock import SystemClock
from fabro.ids import RunId
from fabro.run.spec import RunArgs
from fabro.run.target import NoTarget
from fabro.workflow.version import Version

LINEAR = 100
VISITS = 1000
COMMANDS = 50


def linear_text(nodes: int, attributes: str) -> str:
    names = [f"n{i}" for i in range(nodes)]
    chain = " -> ".join(["start", *names, "exit"])
    return (
        "digraph Linear { start [shape=Mdiamond] exit [shape=Msquare]"
        f" node [{attributes}] {' '.join(names)} {chain} }}"
    )


def loop_text(visits: int) -> str:
    return (
        f"digraph Loop {{ graph [max_node_visits={visits + 10}] start [shape=Mdiamond] exit [shape=Msquare]"
        " again [shape=diamond] start -> again"
        f' again -> exit [condition="internal.node_visit_count >= {visits}"] again -> again }}'
    )


async def run_to_end(system: System, text: str) -> tuple[RunId, float]:
    """Seconds from the start request to the run's end on disk."""
    calls = system.operations("bench")
    version = await calls.versions.create(
        Version(entrypoint="w.fabro", files={"w.fabro": text}, workflow_dependencies={})
    )
    run = await calls.runs.create(
        RunIntent(workflow_version_id=version, target=NoTarget(), args=RunArgs(), goal="bench")
    )
    began = time.perf_counter()
    await calls.runs.start(run.id)
    ended = await calls.runs.wait([run.id], until="terminal", timeout_seconds=300)
    took = time.perf_counter() - began
    status = ended.runs[0].lifecycle.status
    assert str(status) == "succeeded(completed)", ended.runs[0].lifecycle
    return run.id, took


def ours(text: str) -> tuple[float, int]:
    """Seconds for one run in a fresh storage folder, and the bytes that its events take in the database."""

    async def main(folder: Path) -> tuple[float, int]:
        async with open_system(folder, dict(os.environ), SystemClock()) as system:
            await run_to_end(system, linear_text(3, "shape=diamond"))
            await run_to_end(system, linear_text(3, "shape=parallelogram, script=true"))
            before = database_bytes(folder)
            _, took = await run_to_end(system, text)
            return took, database_bytes(folder) - before

    with tempfile.TemporaryDirectory(dir=".") as folder:
        return anyio.run(main, Path(folder).resolve() / "storage")


def database_bytes(folder: Path) -> int:
    """Bytes in use, freed pages not counted, after a checkpoint of the write-ahead log."""
    [path] = (folder / "db").glob("*.db")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    [[pages]] = connection.execute("PRAGMA page_count").fetchall()
    [[size]] = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    return pages * size


def bare_commit() -> float:
    """Seconds of one durable commit of a small row, the mean of many."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        connection = sqlite3.connect(Path(folder) / "floor.sqlite3", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        began = time.perf_counter()
        for _ in range(200):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t (b) VALUES (?)", ("x" * 300,))
            connection.execute("COMMIT")
        took = time.perf_counter() - began
        connection.close()
        return took / 200


async def spawn_shells(number: int) -> float:
    """Seconds of one bare spawn of a shell that does nothing, with its output read."""
    began = time.perf_counter()
    for _ in range(number):
        await anyio.run_process(["bash", "-c", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    return (time.perf_counter() - began) / number


def rows() -> list[report.Row]:
    line = linear_text(LINEAR, "shape=diamond")
    commands = linear_text(COMMANDS, "shape=parallelogram, script=true")
    # Before LangGraph has filled the heap, which makes every spawn from this process dearer.
    commit = report.median(bare_commit)
    spawn = report.median(lambda: anyio.run(spawn_shells, COMMANDS))
    command = report.median(lambda: ours(commands)[0] / COMMANDS)
    our_line = report.median(lambda: LINEAR / ours(line)[0])
    their_line = report.median(lambda: LINEAR / langgraph_peer.run(linear=LINEAR)[0])
    our_loop = report.median(lambda: VISITS / ours(loop_text(VISITS))[0])
    our_long_loop = report.median(lambda: 10 * VISITS / ours(loop_text(10 * VISITS))[0], 3)
    their_loop = report.median(lambda: VISITS / langgraph_peer.run(visits=VISITS)[0], 3)
    our_bytes = ours(loop_text(VISITS))[1] / VISITS
    their_bytes = langgraph_peer.run(visits=VISITS)[1] / VISITS
    floor = spawn + commit
    return [
        report.Row(
            name="no-op step, linear 100",
            unit="steps/s",
            ours=our_line,
            peer=their_line,
            floor=1 / commit,
            goal=">= 3x peer",
            met=our_line >= 3 * their_line,
        ),
        report.Row(
            name="loop of 1,000 visits",
            unit="visits/s",
            ours=our_loop,
            peer=their_loop,
            floor=1 / commit,
            goal=">= 3x peer",
            met=our_loop >= 3 * their_loop,
        ),
        report.Row(
            name="loop of 10,000 visits against 1,000",
            unit="visits/s",
            ours=our_long_loop,
            peer=our_loop,
            goal="flat (>= 0.8x)",
            met=our_long_loop >= 0.8 * our_loop,
        ),
        report.Row(
            name="command node",
            unit="ms",
            ours=command * 1000,
            floor=floor * 1000,
            goal="<= 1.5x floor",
            met=command <= 1.5 * floor,
        ),
        report.Row(
            name="database bytes per step",
            unit="bytes",
            ours=our_bytes,
            peer=their_bytes,
            goal="<= 1,024",
            met=our_bytes <= 1024,
        ),
    ]


if __name__ == "__main__":
    TITLE = "engine, beside LangGraph + SQLite (sync)"
    show_json = report.wants_json(TITLE)
    report.show(TITLE, rows(), as_json=show_json)
