"""Two waits of which the first to end counts."""

import anyio
import pytest

from fabro.race import race

pytestmark = pytest.mark.anyio


async def value() -> str:
    return "done"


async def fails() -> str:
    raise KeyError("x")


async def test_the_work_that_ends_first_gives_its_result() -> None:
    assert await race(value, anyio.sleep_forever) == "done"


async def test_nothing_comes_of_work_that_is_too_late() -> None:
    began, ended = anyio.Event(), anyio.Event()

    async def work() -> str:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return "late"

    assert await race(work, began.wait) is None
    assert ended.is_set()


async def test_errors_come_out_as_they_are() -> None:
    with pytest.raises(KeyError):
        await race(fails, anyio.sleep_forever)
    with pytest.raises(KeyError):
        await race(anyio.sleep_forever, fails)


async def test_being_cancelled_cancels_both() -> None:
    with anyio.move_on_after(0.01) as scope:
        await race(anyio.sleep_forever, anyio.sleep_forever)
    assert scope.cancelled_caught
