"""The one hand of the engine: carries out what `decide` says, for one run, until nothing is left to do now.

Above: dispatch. Below: decide, the run's log, handlers, the sandbox. What is decided is on disk before anything
outside depends on it, and not one commit earlier (design §5).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import anyio

from fabro.clock import Clock
from fabro.engine import commands as c
from fabro.engine.decide import decide, ending, resumed
from fabro.engine.execute import Execution, fault
from fabro.engine.handler import Effect, Handler, Park, Plan, Rerun, Result, Settled, StageCall
from fabro.engine.log import RunLog
from fabro.errors import FabroError
from fabro.ids import BlobId, RunId
from fabro.race import race
from fabro.run import events as e
from fabro.run.spec import RunSpec
from fabro.run.state import Inside
from fabro.run.status import FailureReason, StatusKind
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
DRIVEN = frozenset({StatusKind.RUNNABLE, StatusKind.STARTING, StatusKind.RUNNING, StatusKind.BLOCKED})
"""Statuses of runs that a runner has something to do with."""
P = TypeVar("P", bound="Plan | Rerun")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What a runner works with; the same for all runs. `places` bounds how many effects run at once."""

    store: EventStore
    blobs: Blobs
    clock: Clock
    handlers: Mapping[NodeType, Handler]
    sandboxes: Provider
    places: anyio.Semaphore
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
        record = await self._tools.store.get(self._run_id)
        if record.summary.status.kind not in DRIVEN:
            return Parked(until=None)
        log = await self._claim()
        parked = await self._drive(log)
        if log.state.status.kind.is_terminal:
            await self._tools.sandboxes.release(self._run_id)
        return parked

    async def _drive(self, log: RunLog) -> Parked:
        if log.state.cancel_requested:  # which needs no graph, so that a run without one can be ended
            log.decided(ending(log.state, FailureReason.CANCELLED, "the run was cancelled"))
            if await log.commit():
                return Parked(until=None)
        assert log.state.spec is not None
        valid = await self._tools.load_graph(log.state.spec)
        while True:
            command = decide(valid, log.state, self._blobs)
            parked = await self._carry_out(command, valid, log)
            if parked is not None and await log.commit():
                return parked
            if log.uncommitted >= BATCH:
                await log.commit()

    async def abandon(self, message: str) -> None:
        """End a run that can't be driven; a run that has ended meanwhile is left alone.

        Raises:
            StorageError, StaleEpoch: as `drive`.
        """
        log = await self._claim()
        while not log.state.status.kind.is_terminal:
            early = log.state.status.kind is StatusKind.RUNNABLE
            reason = FailureReason.LAUNCH_FAILED if early else FailureReason.WORKFLOW_ERROR
            log.decided(ending(log.state, reason, message))
            await log.commit()

    async def _claim(self) -> RunLog:
        record = await self._tools.store.claim(self._run_id)
        log = RunLog(self._tools.store, self._tools.clock, self._run_id, record.epoch)
        await log.load()
        return log

    async def _carry_out(self, command: c.Command, valid: ValidGraph, log: RunLog) -> Parked | None:
        match command:
            case c.Record(events=events):
                log.decided(events)
            case c.PrepareWorkspace():
                await self._prepare(log)
            case c.LoadBlobs(blobs=blobs):
                self._blobs = {blob: await self._text_of(blob) for blob in blobs}
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
        assert log.state.spec is not None
        try:
            sandbox = await self._open_sandbox(log.state.spec)
        except FabroError as error:
            log.happened([e.RunFailed(reason=FailureReason.SANDBOX_INIT_FAILED, message=error.advice)])
            return
        log.happened([e.RunStarted(working_directory=sandbox.working_directory), e.RunRunning()])

    async def _open_sandbox(self, spec: RunSpec) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = await self._tools.sandboxes.prepare(self._run_id, spec.target)
        return self._sandbox

    async def _text_of(self, blob: BlobId) -> str:
        content = await self._tools.blobs.get(blob, limit=BLOB_TEXT_LIMIT)
        return content.decode(errors="replace")

    async def _begin(self, node: Node, started: e.StageStarted, valid: ValidGraph, log: RunLog) -> Parked | None:
        call = self._call(node, started, valid, log)
        plan = _guarded(partial(self._tools.handlers[node.type].begin, call), call)
        if not isinstance(plan, Effect):
            log.decided([started])
            return self._take(plan, call, log)
        if await self._take_place(log):
            try:
                log.decided([started, *plan.events])
                await self._execute(plan, call, log)
            finally:
                self._tools.places.release()
        return None

    async def _resume(self, node: Node, inside: Inside, valid: ValidGraph, log: RunLog) -> Parked | None:
        call = self._call(node, inside, valid, log)
        plan = _guarded(partial(self._tools.handlers[node.type].resume, call, inside), call)
        if isinstance(plan, Rerun):
            return await self._begin(node, resumed(log.state, inside), valid, log)
        waited = call.now - inside.started_at
        return self._take(plan, call, log, duration_ms=max(0, waited // timedelta(milliseconds=1)))

    def _call(self, node: Node, stage: e.StageStarted | Inside, valid: ValidGraph, log: RunLog) -> StageCall:
        spec = log.state.spec
        assert spec is not None
        return StageCall(
            node=node,
            stage_id=stage.stage_id,
            valid=valid,
            spec=spec,
            state=log.state,
            open_sandbox=partial(self._open_sandbox, spec),
            now=self._tools.clock.now(),
        )

    def _take(self, plan: Settled, call: StageCall, log: RunLog, *, duration_ms: int = 0) -> Parked | None:
        if isinstance(plan, Park):
            log.decided(plan.events)
            return Parked(until=plan.until)
        log.decided(_end(plan, call, duration_ms=duration_ms))
        return None

    async def _take_place(self, log: RunLog) -> bool:
        """Get a place to execute; False when there was news meanwhile, so that it is to be decided again."""
        try:
            self._tools.places.acquire_nowait()
        except anyio.WouldBlock:
            if not await log.commit():
                return False
        else:
            return True
        if await race(partial(_acquire, self._tools.places), self._news.changed):
            return True
        await log.catch_up()
        return False

    async def _execute(self, effect: Effect, call: StageCall, log: RunLog) -> None:
        if await log.commit():
            result, duration_ms = await Execution(self._tools.clock, log, self._news).run(effect, call)
            log.happened(_end(result, call, duration_ms=duration_ms))


async def _acquire(places: anyio.Semaphore) -> bool:
    await places.acquire()
    return True


def _guarded(make: Callable[[], P], call: StageCall) -> P | Result:
    """The handler's plan; whatever it raises fails its stage."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever a handler raises fails its stage
        return fault(error, call)


def _end(result: Result, call: StageCall, *, duration_ms: int) -> tuple[e.Event, ...]:
    return (*result.events, e.stage_end(call.stage_id, result.outcome, duration_ms=duration_ms))
