"""Time that stands still, moves when told, or jumps."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest

from fabro.testing.fake_clock import EPOCH, FakeClock

pytestmark = pytest.mark.anyio


async def test_both_clocks_move_together() -> None:
    clock = FakeClock(datetime(2030, 5, 1, tzinfo=UTC))
    await clock.advance(90)
    assert clock.now() == datetime(2030, 5, 1, 0, 1, 30, tzinfo=UTC)
    assert clock.monotonic() == 90


async def test_sleepers_wake_at_their_moment_earliest_first() -> None:
    clock = FakeClock()
    wait = clock.sleep
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await wait(seconds)
        woken.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        for name, seconds in (("late", 5.0), ("early", 1.0), ("never", 100.0)):
            group.start_soon(sleeper, name, seconds)
        await clock.advance(10)
        assert woken == [("early", 1.0), ("late", 5.0)]
        assert clock.sleepers == 1
        group.cancel_scope.cancel()
    assert clock.sleepers == 0


async def test_one_span_holds_several_sleeps_of_one_task() -> None:
    clock = FakeClock()
    wait = clock.sleep
    ticks: list[float] = []

    async def ticker() -> None:
        while True:
            await wait(2)
            ticks.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(ticker)
        await clock.advance(7)
        group.cancel_scope.cancel()
    assert ticks == [2, 4, 6]
    assert clock.monotonic() == 7


async def test_auto_advance_moves_by_what_is_slept() -> None:
    clock = FakeClock(auto_advance=True)
    wait = clock.sleep
    await wait(3)
    await wait(0.5)
    assert clock.slept == [3, 0.5]
    assert clock.now() == EPOCH + timedelta(seconds=3.5)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
async def test_no_wait_returns_at_once_without_moving(seconds: float) -> None:
    clock = FakeClock()
    wait = clock.sleep
    with anyio.fail_after(5):
        await wait(seconds)
    assert clock.monotonic() == 0


async def test_auto_advance_can_be_cancelled() -> None:
    wait = FakeClock(auto_advance=True).sleep

    async def forever() -> None:
        while True:
            await wait(1)

    with anyio.move_on_after(0.05) as scope:
        await forever()
    assert scope.cancelled_caught
