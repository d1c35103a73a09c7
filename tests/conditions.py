"""Waiting for facts, with a bound."""

from collections.abc import Awaitable, Callable

import anyio

LOOK_SECONDS = 0.01


async def until(holds: Callable[[], Awaitable[bool]], *, seconds: float = 10.0) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    with anyio.fail_after(seconds):
        while not await holds():
            with anyio.move_on_after(LOOK_SECONDS):
                await anyio.sleep_forever()
