"""Alarms for parked runs: one task for all of them. Above: the local dispatcher. Below: the clock."""

import heapq
from collections.abc import Callable
from datetime import datetime

import anyio

from fabro.clock import Clock
from fabro.ids import RunId

LONGEST_SLEEP_SECONDS = 60.0
"""The wall clock is looked at this often at least, so that a clock that was set is noticed."""


class Timers:
    """Calls back for a run at a moment, or soon after."""

    def __init__(self, clock: Clock, ring: Callable[[RunId], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._alarms: list[tuple[datetime, RunId]] = []
        self._earlier = anyio.Event()

    def set(self, run_id: RunId, at: datetime) -> None:
        """Ring for the run at that moment. An alarm that is no longer needed may ring all the same."""
        heapq.heappush(self._alarms, (at, run_id))
        if self._alarms[0] == (at, run_id):
            self._earlier.set()

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            self._earlier = anyio.Event()
            now = self._clock.now()
            while self._alarms and self._alarms[0][0] <= now:
                self._ring(heapq.heappop(self._alarms)[1])
            pause = (self._alarms[0][0] - now).total_seconds() if self._alarms else LONGEST_SLEEP_SECONDS
            await self._sleep(min(pause, LONGEST_SLEEP_SECONDS))

    async def _sleep(self, seconds: float) -> None:
        async def until_earlier(scope: anyio.CancelScope) -> None:
            await self._earlier.wait()
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(until_earlier, group.cancel_scope)
            await self._clock.sleep(seconds)
            group.cancel_scope.cancel()
