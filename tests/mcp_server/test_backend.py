"""Connecting at the first call. Source: reference/mcp-server.md §0."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from fabro.errors import Unavailable
from fabro.mcp_server.backend import LazyBackend, open_lazily
from fabro.operations.calls import Operations

pytestmark = pytest.mark.anyio


class Door:
    """Counts who comes in and who goes out; can be closed."""

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self.opened = 0
        self.left = 0
        self.is_shut = False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Any]:
        if self.is_shut:
            raise Unavailable("no server")
        self.opened += 1
        try:
            async with anyio.create_task_group():  # must be entered and left by one task
                yield self.operations
        finally:
            self.left += 1


async def test_nothing_is_opened_before_the_first_use_and_then_once(operations: Operations) -> None:
    door = Door(operations)

    async def use(backend: LazyBackend) -> None:
        assert await backend.calls() is operations

    async with open_lazily(door.open) as backend:
        assert door.opened == 0
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(use, backend)
        assert (door.opened, door.left) == (1, 0)


async def test_an_opening_that_failed_is_tried_again(operations: Operations) -> None:
    door = Door(operations)
    door.is_shut = True
    async with open_lazily(door.open) as backend:
        for _ in range(2):
            with pytest.raises(Unavailable, match="no server"):
                await backend.calls()
        door.is_shut = False
        assert await backend.calls() is operations
    assert (door.opened, door.left) == (1, 1)
