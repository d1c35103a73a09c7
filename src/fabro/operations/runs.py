"""Runs: create, start, cancel, look at, wait for. Above: doors. Below: the store, versions, dispatch."""

import re
from collections.abc import Sequence
from functools import partial

from anyio.to_thread import run_sync

from fabro.calls import RunIntent, RunListQuery, RunPage, RunStateView, Until, Waited
from fabro.clock import Clock
from fabro.dispatch.port import Dispatcher
from fabro.errors import Conflict, InvalidInput, NotFound
from fabro.ids import RunId, VersionId, is_run_id, new_run_id
from fabro.operations.admission import (
    check_environment,
    check_inputs,
    check_title,
    materialise,
    spec_of,
    unexecutable,
)
from fabro.operations.append import append_by_record
from fabro.operations.select import list_query, resolve
from fabro.operations.versions import Versions
from fabro.operations.views import run_view, state_view
from fabro.projections.run_view import RunView
from fabro.race import race
from fabro.run import events as e
from fabro.run.ledger import cancelled_early
from fabro.run.status import FailureReason, StatusKind
from fabro.store.port import EventStore, RunRecord
from fabro.workflow.attributes import NodeType
from fabro.workflow.bind import bind

LONGEST_WAIT_SECONDS = 3600.0
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Runs:
    """Implements `fabro.calls.RunCalls` in process for one caller, `client`, as it calls itself."""

    def __init__(
        self,
        store: EventStore,
        versions: Versions,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        executable: frozenset[NodeType],
        client: str | None = None,
    ) -> None:
        self._store = store
        self._versions = versions
        self._dispatcher = dispatcher
        self._clock = clock
        self._executable = executable
        self._client = client

    async def create(self, intent: RunIntent) -> RunView:
        """Persist a submitted run (`fabro.calls.RunCalls.create`)."""
        check_environment(intent)
        title = check_title(intent.title)
        check_inputs(intent.args)
        version = await self._versions.get(intent.workflow_version_id)
        version_id = VersionId(intent.workflow_version_id.strip().lower())
        graph = await self._versions.graph(version_id)
        bound = bind(graph, goal=intent.goal, inputs=intent.args.inputs, variables={})
        target = await run_sync(materialise, intent.target)
        spec = spec_of(
            intent,
            version_id=version_id,
            graph=bound.graph,
            slug=_slug(version.entrypoint, bound.graph.name),
            target=target,
            title=title,
            client=self._client,
        )
        created = e.RunCreated(spec=spec, parent_id=await self._parent(intent.parent_id))
        run_id = new_run_id(self._clock.now())
        return run_view(await self._store.create(run_id, [created, e.RunSubmitted()]))

    async def start(self, run_id: RunId) -> RunView:
        """Ask for a submitted run to execute (`fabro.calls.RunCalls.start`)."""
        summary = (await self._store.get(run_id)).summary
        graph = await self._versions.graph(summary.version_id)
        simulated = {NodeType.AGENT} if summary.dry_run else set[NodeType]()
        problem = unexecutable(graph, self._executable | simulated)

        def choose(record: RunRecord) -> tuple[e.Event, ...]:
            _require_submitted(record)
            failure = (e.RunFailed(reason=FailureReason.LAUNCH_FAILED, message=problem),) if problem else ()
            return (e.RunStartRequested(), e.RunRunnable(), *failure)

        return run_view(await append_by_record(self._store, run_id, choose, self._dispatcher.wake))

    async def cancel(self, run_id: RunId) -> RunView:
        """Ask for a run to end (`fabro.calls.RunCalls.cancel`)."""
        return run_view(await append_by_record(self._store, run_id, _cancelling, self._dispatcher.wake))

    async def get(self, run_id: RunId) -> RunView:
        """A run."""
        return run_view(await self._store.get(run_id))

    async def state(self, run_id: RunId) -> RunStateView:
        """A run in full."""
        return await state_view(self._store, run_id)

    async def list(self, query: RunListQuery) -> RunPage:
        """A page of runs, newest first."""
        records = await self._store.list(list_query(query))
        page = records[: query.limit]
        more = len(records) > query.limit
        return RunPage(
            data=tuple(run_view(record) for record in page), next_cursor=page[-1].summary.id if more else None
        )

    async def resolve(self, selector: str) -> RunId:
        """The run that a selector means (`fabro.calls.RunCalls.resolve`)."""
        return await resolve(self._store, selector)

    async def wait(self, run_ids: Sequence[RunId], *, until: Until, timeout_seconds: float) -> Waited:
        """Wait until every run is there, or the time is up."""
        records: list[RunRecord] = []
        with self._store.commits.watch(run_ids) as watch:
            deadline = self._clock.monotonic() + min(timeout_seconds, LONGEST_WAIT_SECONDS)
            while True:
                records = [await self._store.get(run_id) for run_id in run_ids]
                done = all(_is_there(record, until) for record in records)
                left = deadline - self._clock.monotonic()
                if done or left <= 0:
                    return Waited(runs=tuple(run_view(record) for record in records), timed_out=not done)
                await race(watch.changed, partial(self._clock.sleep, left))

    async def _parent(self, parent_id: str | None) -> RunId | None:
        if parent_id is None:
            return None
        if not is_run_id(parent_id):
            raise InvalidInput(f"parent_id {parent_id!r} is no run id", code="run_intent_invalid")
        try:
            await self._store.get(RunId(parent_id))
        except NotFound as error:
            raise NotFound(f"parent run {parent_id} not found", code="parent_not_found") from error
        return RunId(parent_id)


def _is_there(record: RunRecord, until: Until) -> bool:
    kind = record.summary.status.kind
    return kind.is_terminal or (until == "blocked" and kind is StatusKind.BLOCKED)


def _require_submitted(record: RunRecord) -> None:
    status = record.summary.status
    match status.kind:
        case StatusKind.SUBMITTED:
            return
        case StatusKind.PENDING | StatusKind.RUNNABLE:
            message = "start has already been requested for this run"
        case StatusKind.STARTING | StatusKind.RUNNING | StatusKind.BLOCKED | StatusKind.PAUSED:
            message = f"the run is already {status.kind}"
        case _:
            message = f"a run that is {status} can't be started; only a submitted one can"
    raise Conflict(message, code="run_not_startable")


def _cancelling(record: RunRecord) -> tuple[e.Event, ...]:
    summary = record.summary
    if summary.status.kind.is_terminal:
        raise Conflict(
            f"run {summary.id} is already terminal ({summary.status}) and can't be cancelled", code="run_terminal"
        )
    if summary.cancel_requested:
        return ()
    if cancelled_early(summary.status):
        ended = e.RunFailed(reason=FailureReason.CANCELLED, message="cancelled before it began to execute")
        return (e.RunCancelRequested(), ended)
    return (e.RunCancelRequested(),)


def _slug(entrypoint: str, graph: str) -> str:
    """A workflow's short name: its file's, or its folder's or graph's where the file is called `workflow`."""
    folder, _, name = entrypoint.removesuffix(".fabro").rpartition("/")
    if name != "workflow":
        return name
    return folder.rpartition("/")[2] or _WORD_START.sub("-", graph).replace("_", "-").lower()
