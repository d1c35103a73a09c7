"""A clock that tests hold in their hands. Above: tests of anything that waits. Below: the clock's contract."""

import heapq
import itertools
from datetime import UTC, datetime, timedelta

import anyio
from anyio.lowlevel import checkpoint

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Where a fake clock starts unless told otherwise."""


class FakeClock:
    """Implements `fabro.clock.Clock` without waiting.

    By default time stands still until `advance` is called. With `auto_advance=True` every `sleep` moves the
    clock by its own length and returns after one turn of the event loop; `slept` keeps the lengths in order.
    """

    def __init__(self, start: datetime = EPOCH, *, auto_advance: bool = False) -> None:
        self._start = start
        self._elapsed = 0.0
        self._auto_advance = auto_advance
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = itertools.count()
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The start plus everything that has passed since."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds that have passed since the clock was made."""
        return self._elapsed

    @property
    def sleepers(self) -> int:
        """How many tasks are asleep on this clock now; those that were cancelled do not count."""
        return len(self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Return when this clock has moved by `seconds`; after one turn of the loop for zero or less."""
        self.slept.append(seconds)
        if self._auto_advance or seconds <= 0:
            self._elapsed += max(0.0, seconds)
            await checkpoint()
            return
        sleeper = (self._elapsed + seconds, next(self._order), anyio.Event())
        heapq.heappush(self._sleepers, sleeper)
        try:
            await sleeper[2].wait()
        finally:
            self._forget(sleeper)

    async def advance(self, seconds: float) -> None:
        """Move time forward, waking each sleeper at its own moment, earliest first.

        A woken task that sleeps again before the end of the span is woken again within it.
        """
        end = self._elapsed + seconds
        await anyio.wait_all_tasks_blocked()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, event = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            event.set()
            await anyio.wait_all_tasks_blocked()
        self._elapsed = end

    def _forget(self, sleeper: tuple[float, int, anyio.Event]) -> None:
        if sleeper in self._sleepers:
            self._sleepers.remove(sleeper)
            heapq.heapify(self._sleepers)
