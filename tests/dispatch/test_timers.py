"""Alarms: one for a run, at the moment that was set last."""

from datetime import timedelta

import anyio
import pytest

from fabro.dispatch.timers import SLACK, Timers
from fabro.ids import RunId
from fabro.testing.fake_clock import EPOCH, FakeClock

pytestmark = pytest.mark.anyio


async def rung(*alarms: tuple[str, float | None], until: float) -> list[tuple[str, float]]:
    clock = FakeClock()
    heard: list[tuple[str, float]] = []
    timers = Timers(clock, lambda run_id: heard.append((run_id, clock.monotonic())))
    async with anyio.create_task_group() as group:
        group.start_soon(timers.run)
        for name, seconds in alarms:
            timers.set(RunId(name), None if seconds is None else EPOCH + timedelta(seconds=seconds))
        await clock.advance(until)
        group.cancel_scope.cancel()
    return heard


async def test_alarms_ring_in_order_whatever_the_order_in_which_they_were_set() -> None:
    heard = await rung(("c", 300), ("a", 10), ("b", 20), until=400)
    assert heard == [("a", 10), ("b", 20), ("c", 300)]


async def test_a_run_has_one_alarm() -> None:
    assert await rung(("a", 10), ("a", 20), ("a", 5), until=100) == [("a", 5)]
    assert await rung(("a", 10), ("a", 20), until=100) == [("a", 20)]
    assert await rung(("a", 10), ("a", None), until=100) == []


async def test_alarms_that_were_moved_do_not_pile_up() -> None:
    timers = Timers(FakeClock(), lambda _: None)
    for second in range(10_000):
        timers.set(RunId("a"), EPOCH + timedelta(seconds=second))
    assert len(timers._order) <= SLACK + 3  # pyright: ignore[reportPrivateUsage] - what must not pile up
