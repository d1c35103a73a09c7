"""A system in memory behind the tools."""

from collections.abc import AsyncGenerator

import pytest

from fabro.operations.calls import Operations
from fabro.testing.memory_system import memory_system


@pytest.fixture
async def operations() -> AsyncGenerator[Operations]:
    """What callers can do with a system that forgets."""
    async with memory_system() as system:
        yield system.operations("fabro-test 1")
