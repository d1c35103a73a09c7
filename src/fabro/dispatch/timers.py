"""Alarms for parked runs: one task for all of them. Above: the local dispatcher. Below: the clock."""

import heapq
from collections.abc import Callable
from datetime import datetime
from functools import partial

import anyio

from fabro.clock import Clock
from fabro.ids import RunId
from fabro.race import race

SLACK = 64
"""Alarms that were moved or taken back and may lie around before the rest is put in order again."""
LONGEST_SLEEP_SECONDS = 60.0
"""The wall clock is looked at this often at least, so that a clock that was set is noticed."""


class Timers:
    """Calls back for a run at a moment, or soon after. A run has one alarm at most."""

    def __init__(self, clock: Clock, ring: Callable[[RunId], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._due: dict[RunId, datetime] = {}
        self._order: list[tuple[datetime, RunId]] = []
        self._earlier = anyio.Event()

    def set(self, run_id: RunId, at: datetime | None) -> None:
        """Ring for the run at that moment and no other; None: not at all."""
        if at is None:
            self._due.pop(run_id, None)
        elif self._due.get(run_id) != at:
            self._due[run_id] = at
            heapq.heappush(self._order, (at, run_id))
            if self._order[0] == (at, run_id):
                self._earlier.set()
        if len(self._order) > 2 * len(self._due) + SLACK:
            self._order = sorted((due, run) for run, due in self._due.items())

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            self._earlier = anyio.Event()
            now = self._clock.now()
            while self._order and self._order[0][0] <= now:
                at, run_id = heapq.heappop(self._order)
                if self._due.get(run_id) == at:
                    del self._due[run_id]
                    self._ring(run_id)
            pause = (self._order[0][0] - now).total_seconds() if self._order else LONGEST_SLEEP_SECONDS
            seconds = min(pause, LONGEST_SLEEP_SECONDS)
            await race(partial(self._clock.sleep, seconds), self._earlier.wait)
