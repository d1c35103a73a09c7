"""Both stores, driven side by side by Hypothesis: whatever is asked of them, they answer alike."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from fabro.errors import FabroError
from fabro.ids import NodeId, QuestionId, RunId, StageId
from fabro.run import events as e
from fabro.run.ledger import check_log
from fabro.run.outcome import Failure
from fabro.run.question import QuestionKind, Yes
from fabro.run.status import StatusKind
from fabro.run.usage import Usage
from fabro.store.memory import MemoryStore
from fabro.store.memory_blobs import MemoryBlobs
from fabro.store.port import EventStore, RunQuery
from fabro.store.sqlite import open_sqlite
from fabro.testing.fake_clock import FakeClock
from tests.store.logs import FAILED, TO_RUNNING, created, notice, run_ids

RUNS = run_ids(4)
A1, A2, GATE = StageId("a@1"), StageId("a@2"), StageId("gate@1")
Q = QuestionId("gate@1")
EVENTS: Sequence[e.Event] = (
    *TO_RUNNING,
    created(),
    notice(),
    notice("odd \ud800 \0 text"),
    notice("long " * 30_000),
    e.RunSubmitted(),
    e.RunStartRequested(),
    e.RunStarted(working_directory="/w"),
    e.RunBlocked(),
    e.RunUnblocked(),
    e.RunCancelRequested(),
    e.RunCompleted(),
    FAILED,
    e.StageStarted(stage_id=A1, handler_type="agent"),
    e.StageStarted(stage_id=A2, handler_type="agent", resumed_from_stage_id=A1),
    e.StageStarted(stage_id=GATE, handler_type="human"),
    e.StageCompleted(stage_id=A1, context_updates={"n": 1.5, "nested": [None, {"k": "v"}]}),
    e.StageFailed(stage_id=GATE, failure=Failure(message="no")),
    e.PromptCompleted(stage_id=A1, response="ok", provider="p", model="m", usage=Usage(input_tokens=3)),
    e.InterviewStarted(stage_id=GATE, question_id=Q, question="?", question_type=QuestionKind.YES_NO),
    e.InterviewCompleted(stage_id=GATE, question_id=Q, answer=Yes()),
    e.EdgeSelected(from_node=NodeId("a"), to_node=NodeId("gate"), reason="condition"),
    e.UnknownEvent(name="run.future", properties={"x": [1, 2.5, "three", None]}),
)
BEGINNINGS: Sequence[Sequence[e.Event]] = (
    [],
    [created()],
    [created(), e.RunSubmitted(), *TO_RUNNING],
    [created(RUNS[0]), *TO_RUNNING],
    [created(), e.RunCompleted()],
    [notice()],
)
LEGAL_WALK: Sequence[e.Event] = (
    *EVENTS[:3],
    EVENTS[15],
    EVENTS[18],
    EVENTS[17],
    EVENTS[21],
    EVENTS[22],
    EVENTS[19],
)

some_run = st.sampled_from(RUNS)
some_event = st.integers(0, len(EVENTS) - 1).map(EVENTS.__getitem__)
some_events = st.lists(some_event, max_size=4) | st.integers(1, len(LEGAL_WALK)).map(
    lambda length: LEGAL_WALK[:length]
)
some_query = st.builds(
    RunQuery,
    statuses=st.frozensets(st.sampled_from(StatusKind), max_size=3),
    parent_id=st.sampled_from([None, RUNS[0]]),
    id_prefix=st.sampled_from(["", RUNS[0][:5].lower(), RUNS[1]]),
    archived=st.sampled_from([None, False, True]),
    before=st.sampled_from([None, *RUNS]),
    limit=st.integers(0, 5),
)


class BothStores(RuleBasedStateMachine):
    """Memory is the model, SQLite what is under test; reopening it must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="fabro-")
        self.clock = FakeClock()
        self.blobs = MemoryBlobs()
        self.memory = MemoryStore(self.clock)
        self.sqlite = self.open()

    def open(self) -> EventStore:
        return open_sqlite(Path(self.folder.name) / "runs.db", self.clock, blobs=self.blobs)

    def both(self, call: Callable[[EventStore], Awaitable[object]]) -> None:
        expected = self.loop.run(observed(call, self.memory))
        assert self.loop.run(observed(call, self.sqlite)) == expected

    @rule(run_id=some_run, events=st.sampled_from(BEGINNINGS))
    def create(self, run_id: RunId, events: Sequence[e.Event]) -> None:
        self.both(lambda store: store.create(run_id, events))

    @rule(run_id=some_run, events=some_events, off=st.sampled_from([0, 0, 0, 0, -1, 1]), epoch=st.integers(-1, 3))
    def append(self, run_id: RunId, events: Sequence[e.Event], off: int, epoch: int) -> None:
        seq = self.loop.run(last_seq(self.memory, run_id)) + off
        claim = None if epoch < 0 else epoch
        self.both(lambda store: store.append(run_id, events, expected_seq=seq, epoch=claim))

    @rule(run_id=some_run)
    def claim(self, run_id: RunId) -> None:
        self.both(lambda store: store.claim(run_id))

    @rule(query=some_query)
    def list(self, query: RunQuery) -> None:
        self.both(lambda store: store.list(query))

    @rule(run_id=some_run, after=st.integers(-1, 20), limit=st.integers(-1, 5))
    def read(self, run_id: RunId, after: int, limit: int) -> None:
        self.both(lambda store: store.read(run_id, after=after, limit=limit))

    @rule()
    def reopen(self) -> None:
        self.loop.run(self.sqlite.close())
        self.sqlite = self.open()

    @rule(seconds=st.floats(0, 10))
    def pass_time(self, seconds: float) -> None:
        self.loop.run(self.clock.advance(seconds))

    @rule(run_id=some_run)
    def look(self, run_id: RunId) -> None:
        self.both(lambda store: store.get(run_id))
        self.both(lambda store: store.read(run_id))
        if self.loop.run(last_seq(self.sqlite, run_id)):
            check_log(self.loop.run(self.sqlite.read(run_id)))

    def teardown(self) -> None:
        for run_id in RUNS:
            self.look(run_id)
        self.loop.run(self.sqlite.close())
        self.loop.close()
        self.folder.cleanup()


async def observed(call: Callable[[EventStore], Awaitable[object]], store: EventStore) -> object:
    """What a caller sees: a result, or an error's kind and words."""
    try:
        return await call(store)
    except FabroError as error:
        return (type(error), error.code, error.message, error.hint, error.details)


async def last_seq(store: EventStore, run_id: RunId) -> int:
    """Where the run's log ends, 0 where there is no run."""
    try:
        return (await store.get(run_id)).last_seq
    except FabroError:
        return 0


@pytest.mark.slow
class TestBothStores(BothStores.TestCase):
    settings = settings(stateful_step_count=25)
