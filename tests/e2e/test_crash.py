"""Kills: a server that is killed at random moments, over and over, loses nothing that it acknowledged.

The runs have commands, a loop and a gate. Each command writes its stage's id into its workspace, so that a stage
which ran twice, or one that ran without a record, shows.
"""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
import pytest

from fabro.calls import Calls, RunIntent, RunListQuery
from fabro.client.connect import connect
from fabro.client.target import choose_target
from fabro.clock import SystemClock
from fabro.errors import FabroError
from fabro.ids import RunId, VersionId
from fabro.run import events as e
from fabro.run.ledger import check_log
from fabro.run.question import Selected
from fabro.run.target import NoTarget
from fabro.store.file_blobs import FileBlobs
from fabro.store.port import EventStore
from fabro.store.sqlite import open_sqlite
from fabro.workflow.version import Version

pytestmark = pytest.mark.anyio

WORKFLOW = """
digraph Crash {
  graph [max_node_visits=20]
  start [shape=Mdiamond] exit [shape=Msquare]
  node [shape=parallelogram]
  first  [script="echo $FABRO_STAGE_ID >> trace; seq 1 2000; sleep 0.3"]
  again  [script="echo $FABRO_STAGE_ID >> trace; echo x >> count; sleep 0.2; test $(wc -l < count) -ge 5"]
  enough [shape=diamond]
  gate   [shape=hexagon, label="Go on?"]
  last   [script="echo $FABRO_STAGE_ID >> trace; sleep 0.1", goal_gate=true]
  start -> first -> again -> enough
  enough -> gate [condition="outcome=succeeded"]
  enough -> again
  gate -> last [label="[Y] Yes"]
  last -> exit
}
"""


@dataclass
class Acknowledged:
    """What the server said that it had done."""

    runs: list[RunId] = field(default_factory=list[RunId])
    answers: set[tuple[RunId, str]] = field(default_factory=set[tuple[RunId, str]])


@dataclass
class Server:
    """A server process that is killed and started again."""

    environment: Mapping[str, str]
    kills: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fabro", "server", "start"],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.kills += 1

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=20)


async def drive(calls: Calls, done: Acknowledged, version: VersionId, wanted: int) -> None:
    """Create, start and answer until every run has ended; a call that fails is made again."""
    while len(done.runs) < wanted:
        try:
            run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
        except FabroError:
            continue
        done.runs.append(run.id)
    pending = set(done.runs)
    while pending:
        for run_id in sorted(pending):
            try:
                view = await calls.runs.get(run_id)
                if view.lifecycle.status.kind == "submitted":
                    await calls.runs.start(run_id)
                for question in await calls.questions.list(run_id) if view.open_questions else ():
                    await calls.questions.answer(run_id, question.id, Selected(option_key="Y"))
                    done.answers.add((run_id, question.id))
                if view.lifecycle.status.kind.is_terminal:
                    pending.discard(run_id)
            except FabroError:
                continue


async def keep_killing(server: Server, calls: Calls, chance: random.Random, until: anyio.Event) -> None:
    """Kill the server some time after it has begun to answer, again and again."""
    while not until.is_set():
        try:
            await calls.runs.list(RunListQuery(limit=1))
        except FabroError:
            continue
        with anyio.move_on_after(chance.uniform(0.05, 1.0)):
            await until.wait()
        if not until.is_set():
            server.kill()
            server.start()


async def register(calls: Calls) -> VersionId:
    version = Version(entrypoint="crash.fabro", files={"crash.fabro": WORKFLOW}, workflow_dependencies={})
    with anyio.fail_after(60):
        while True:
            try:
                return await calls.versions.create(version)
            except FabroError:
                continue


async def crash(environment: Mapping[str, str], runs: int, seed: int) -> tuple[Acknowledged, int]:
    done = Acknowledged()
    server = Server(environment)
    server.start()
    over = anyio.Event()
    target = choose_target(None, None, environment)
    try:
        async with connect(target, client_name="crash", environment=environment, start=False) as calls:
            version = await register(calls)
            async with anyio.create_task_group() as group:
                group.start_soon(keep_killing, server, calls, random.Random(seed), over)
                with anyio.fail_after(60 + 12 * runs):
                    await drive(calls, done, version, runs)
                over.set()
    finally:
        server.stop()
    return done, server.kills


async def whole_log(store: EventStore, run_id: RunId) -> tuple[e.StoredEvent, ...]:
    return await store.read(run_id, limit=100_000)


async def judge(storage: Path, done: Acknowledged) -> None:
    blobs = FileBlobs(storage / "blobs")
    [database] = (storage / "db").glob("*.db")
    store = open_sqlite(database, SystemClock(), blobs=blobs)
    try:
        for run_id in done.runs:
            log = await whole_log(store, run_id)
            ledger = check_log(log)
            assert str(ledger.status) == "succeeded(completed)", (run_id, ledger.status, log[-1])
            assert not ledger.open_stages
            answered = {one.event.question_id for one in log if isinstance(one.event, e.InterviewCompleted)}
            assert {question for run, question in done.answers if run == run_id} <= answered
            started = [one.event.stage_id for one in log if isinstance(one.event, e.CommandStarted)]
            finished = {
                one.event.stage_id for one in log if isinstance(one.event, e.StageCompleted | e.StageFailed)
            }
            trace = Counter((storage / "runs" / run_id / "workspace" / "trace").read_text().split())
            assert set(trace) <= set(started)
            assert {stage for stage in started if stage in finished} <= set(trace)
            assert set(trace.values()) == {1}, (run_id, trace)
    finally:
        await store.close()


def marked_processes(environment: Mapping[str, str]) -> list[psutil.Process]:
    home = environment["FABRO_HOME"]
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _environment_of(process).get("FABRO_HOME") == home
    ]


def _environment_of(process: psutil.Process) -> Mapping[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(8, marks=[pytest.mark.slow, pytest.mark.timeout(240)]),
        pytest.param(100, marks=[pytest.mark.full, pytest.mark.timeout(1500)]),
    ],
)
async def test_runs_survive_a_server_that_is_killed_again_and_again(
    runs: int, fabro_home: Mapping[str, str]
) -> None:
    done, kills = await crash(fabro_home, runs, seed=runs)
    assert kills >= 2
    assert len(done.runs) == runs
    assert len(done.answers) > 0
    await judge(Path(fabro_home["FABRO_HOME"]) / "storage", done)
    _, alive = psutil.wait_procs(marked_processes(fabro_home), timeout=10)
    assert alive == []
    print(f"{runs} runs, {kills} kills")
