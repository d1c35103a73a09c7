"""Two waits of which the first to end counts. Above: whatever waits for one thing or another. Below: nothing."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def race(work: Callable[[], Awaitable[T]], until: Callable[[], Awaitable[object]]) -> T | None:
    """The result of `work`, or None when `until` has ended first; whichever is late is cancelled.

    What `work` or `until` raises comes out as it is, and not in a group.
    """
    result: T | None = None
    error: Exception | None = None

    async def wait(scope: anyio.CancelScope) -> None:
        nonlocal error
        try:
            await until()
        except Exception as raised:  # noqa: BLE001 - it is raised again outside the task group
            error = error or raised
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(wait, group.cancel_scope)
        try:
            result = await work()
        except Exception as raised:  # noqa: BLE001 - as above
            error = error or raised
        group.cancel_scope.cancel()
    if error is not None:
        raise error
    return result
