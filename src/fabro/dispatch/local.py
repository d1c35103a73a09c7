"""Executes runs in this process. Above: assembly. Below: the engine's runner.

A run has a task only while something of it executes; a run that waits costs an entry in a heap at most.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
import structlog
from anyio.abc import TaskGroup

from fabro.dispatch.timers import Timers
from fabro.engine.runner import DRIVEN, Parked, Runner, Tools
from fabro.errors import FabroError, StorageError
from fabro.ids import RunId
from fabro.store.commits import Watch
from fabro.store.port import RunQuery, StaleEpoch

FAULT_PAUSES = (1.0, 5.0, 25.0)
"""Seconds between tries to drive a run whose driving failed."""
STORAGE_PAUSE = timedelta(minutes=1)
"""How long a run rests whose events could not be written or read."""
PAGE = 500

_logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Live:
    """A run that a task drives now. `again` says that something came while it was driven."""

    news: Watch = field(default_factory=Watch)
    again: bool = False


class LocalDispatcher:
    """Drives the runs of one store."""

    def __init__(self, tools: Tools, group: TaskGroup) -> None:
        self._tools = tools
        self._group = group
        self._live: dict[RunId, _Live] = {}
        self._timers = Timers(tools.clock, self.wake)

    @property
    def active(self) -> int:
        """How many runs are being driven."""
        return len(self._live)

    def wake(self, run_id: RunId) -> None:
        """Drive the run, or tell who drives it that there is news."""
        live = self._live.get(run_id)
        if live is not None:
            live.again = True
            live.news.notify()
            return
        self._live[run_id] = _Live()
        self._group.start_soon(self._drive, run_id, name=f"run {run_id}")

    async def run_timers(self) -> None:
        """Wake parked runs when their time comes; until cancelled."""
        await self._timers.run()

    async def recover(self) -> int:
        """Wake every unfinished run of the store, once, after a start; their number."""
        found = 0
        before: RunId | None = None
        while True:
            page = await self._tools.store.list(RunQuery(statuses=DRIVEN, before=before, limit=PAGE))
            for record in page:
                before = record.summary.id
                self.wake(before)
            found += len(page)
            if len(page) < PAGE:
                return found

    async def _drive(self, run_id: RunId) -> None:
        live = self._live[run_id]
        parked = Parked(until=None)
        try:
            live.again = True
            while live.again:
                live.again = False
                parked = await self._drive_with_patience(run_id, live)
        finally:
            del self._live[run_id]
        self._timers.set(run_id, parked.until)

    async def _drive_with_patience(self, run_id: RunId, live: _Live) -> Parked:
        message = ""
        for pause in FAULT_PAUSES:
            try:
                return await Runner(self._tools, run_id, live.news).drive()
            except StaleEpoch:
                return Parked(until=None)
            except StorageError as error:
                _logger.warning("a run waits for its storage", run_id=run_id, error=error.message)
                return self._later()
            except FabroError as error:
                _logger.warning("a run could not be driven", run_id=run_id, error=error.message, code=error.code)
                message = error.advice
            except Exception as error:
                _logger.exception("a run could not be driven", run_id=run_id)
                message = f"internal error: {error!r}"
            await self._tools.clock.sleep(pause)
        return await self._give_up(run_id, live, message)

    async def _give_up(self, run_id: RunId, live: _Live, message: str) -> Parked:
        try:
            await Runner(self._tools, run_id, live.news).abandon(message)
        except StaleEpoch:
            return Parked(until=None)
        except Exception:
            _logger.exception("a run could not be ended either", run_id=run_id)
            return self._later()
        return Parked(until=None)

    def _later(self) -> Parked:
        return Parked(until=self._tools.clock.now() + STORAGE_PAUSE)


@asynccontextmanager
async def local_dispatcher(tools: Tools) -> AsyncGenerator[LocalDispatcher]:
    """A dispatcher whose tasks end with the `async with` block; what they were doing goes on at the next start."""
    async with anyio.create_task_group() as group:
        dispatcher = LocalDispatcher(tools, group)
        group.start_soon(dispatcher.run_timers)
        yield dispatcher
        group.cancel_scope.cancel()
