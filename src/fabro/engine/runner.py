"""The one hand of the engine: carries out what `decide` says, for one run, until nothing is left to do now.

Above: dispatch. Below: decide, the run's log, handlers, the sandbox. What is decided is on disk before anything
outside depends on it, and not one commit earlier (design §5).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from fabro.clock import Clock
from fabro.engine import commands as c
from fabro.engine.decide import decide, ending, resumed
from fabro.engine.execute import Execution
from fabro.engine.handler import Effect, Handler, Park, Plan, Rerun, Result, StageCall
from fabro.engine.log import RunLog
from fabro.errors import FabroError
from fabro.ids import BlobId, RunId
from fabro.run import events as e
from fabro.run.outcome import failed
from fabro.run.spec import RunSpec
from fabro.run.state import Inside
from fabro.run.status import FailureReason
from fabro.sandbox.port import Provider, Sandbox
from fabro.store.blobs import Blobs
from fabro.store.commits import Watch
from fabro.store.port import EventStore
from fabro.workflow.attributes import NodeType
from fabro.workflow.graph import Node, ValidGraph

BATCH = 256
"""Events after which a row of stages without effects is written, so that progress shows."""
BLOB_TEXT_LIMIT = 1 << 20
"""Bytes of a blob that conditions can see."""

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What a runner works with; the same for all runs."""

    store: EventStore
    blobs: Blobs
    clock: Clock
    handlers: Mapping[NodeType, Handler]
    sandboxes: Provider
    load_graph: Callable[[RunSpec], Awaitable[ValidGraph]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parked:
    """The run waits: until a moment, for something from outside, or (None) only for the latter. A run that has
    ended is parked for good.
    """

    until: datetime | None


class Runner:
    """Drives one run. `news` is notified when somebody else has appended to the run's log."""

    def __init__(self, tools: Tools, run_id: RunId, news: Watch) -> None:
        self._tools = tools
        self._run_id = run_id
        self._news = news
        self._blobs: dict[BlobId, str] = {}
        self._sandbox: Sandbox | None = None

    async def drive(self) -> Parked:
        """Go on with the run until it has to wait.

        Raises:
            StorageError: events can't be written; the run goes on from its log when it is driven again.
            StaleEpoch: another worker has claimed the run.
        """
        record = await self._tools.store.claim(self._run_id)
        log = RunLog(self._tools.store, self._tools.clock, self._run_id, record.epoch)
        await log.load()
        assert log.state.spec is not None
        valid = await self._tools.load_graph(log.state.spec)
        if log.state.working_directory is not None:
            await self._reopen(log)
        while True:
            command = decide(valid, log.state, self._blobs)
            parked = await self._carry_out(command, valid, log)
            if parked is not None and await log.commit():
                return parked
            if log.uncommitted >= BATCH:
                await log.commit()

    async def _carry_out(self, command: c.Command, valid: ValidGraph, log: RunLog) -> Parked | None:
        match command:
            case c.Record(events=events):
                log.decided(events)
            case c.PrepareWorkspace():
                await self._prepare(log)
            case c.LoadBlobs(blobs=blobs):
                await self._load(blobs)
            case c.BeginStage(node=node, started=started):
                return await self._begin(node, started, valid, log)
            case c.ResumeStage(node=node, inside=inside):
                return await self._resume(node, inside, valid, log)
            case c.Rest():
                return Parked(until=None)
        return None

    async def _prepare(self, log: RunLog) -> None:
        if not await log.commit():
            return
        try:
            sandbox = await self._open_sandbox(log)
        except FabroError as error:
            log.happened([e.RunFailed(reason=FailureReason.SANDBOX_INIT_FAILED, message=error.message)])
            return
        log.happened([e.RunStarted(working_directory=sandbox.working_directory), e.RunRunning()])

    async def _open_sandbox(self, log: RunLog) -> Sandbox:
        if self._sandbox is None:
            assert log.state.spec is not None
            self._sandbox = await self._tools.sandboxes.prepare(self._run_id, log.state.spec.target)
        return self._sandbox

    async def _reopen(self, log: RunLog) -> None:
        try:
            await self._open_sandbox(log)
        except FabroError as error:
            if not log.state.status.kind.is_terminal:
                log.decided(ending(log.state, FailureReason.SANDBOX_INIT_FAILED, error.message))

    async def _load(self, blobs: frozenset[BlobId]) -> None:
        for blob in blobs:
            content = await self._tools.blobs.get(blob, limit=BLOB_TEXT_LIMIT)
            self._blobs[blob] = content.decode(errors="replace")

    async def _begin(self, node: Node, started: e.StageStarted, valid: ValidGraph, log: RunLog) -> Parked | None:
        call = await self._call(node, started, valid, log)
        log.decided([started])
        try:
            plan = self._tools.handlers[node.type].begin(call)
        except FabroError as error:
            plan = _refused(error)
        return await self._follow(plan, call, log)

    async def _resume(self, node: Node, inside: Inside, valid: ValidGraph, log: RunLog) -> Parked | None:
        call = await self._call(node, inside, valid, log)
        try:
            plan = self._tools.handlers[node.type].resume(call, inside)
        except FabroError as error:
            plan = _refused(error)
        if isinstance(plan, Rerun):
            return await self._begin(node, resumed(log.state, inside), valid, log)
        return await self._follow(plan, call, log)

    async def _call(self, node: Node, stage: e.StageStarted | Inside, valid: ValidGraph, log: RunLog) -> StageCall:
        assert log.state.spec is not None
        return StageCall(
            node=node,
            stage_id=stage.stage_id,
            valid=valid,
            spec=log.state.spec,
            state=log.state,
            sandbox=await self._open_sandbox(log),
            now=self._tools.clock.now(),
        )

    async def _follow(self, plan: Plan, call: StageCall, log: RunLog) -> Parked | None:
        match plan:
            case Park(until=until, events=events):
                log.decided(events)
                return Parked(until=until)
            case Result():
                log.decided(_end(plan, call, duration_ms=0))
            case Effect(events=events):
                log.decided(events)
                if await log.commit():
                    execution = Execution(self._tools.clock, log, self._news)
                    result, duration_ms = await execution.run(plan, call)
                    log.happened(_end(result, call, duration_ms=duration_ms))
        return None


def _refused(error: FabroError) -> Result:
    return Result(outcome=failed(error.advice))


def _end(result: Result, call: StageCall, *, duration_ms: int) -> tuple[e.Event, ...]:
    return (*result.events, e.stage_end(call.stage_id, result.outcome, duration_ms=duration_ms))
