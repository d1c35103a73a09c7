"""What tools work on, and a connection to it that is opened by the first call that needs one.

Above: the server, the tools. Below: the calls. Source: reference/mcp-server.md §0: listing tools and refusing
arguments need neither a server nor credentials, and an opening that failed is tried again by the next call.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup, TaskStatus

from fabro.calls import Calls
from fabro.workflow.version import Version

OpenCalls: TypeAlias = Callable[[], AbstractAsyncContextManager[Calls]]
"""Opens a connection: entered once and left when the server ends, by one task."""
Packager: TypeAlias = Callable[[str, Mapping[str, str]], Sequence[Version]]
"""Makes versions of an entrypoint and its files: dependencies first, the entrypoint's own version last."""


class Backend(Protocol):
    """Where a tool gets its calls from."""

    async def calls(self) -> Calls:
        """The calls, connected.

        Raises:
            FabroError: there is no connection to be had.
        """
        ...


class LazyBackend:
    """Implements `Backend`: opens at the first use."""

    def __init__(self, open_calls: OpenCalls, tasks: TaskGroup) -> None:
        self._open = open_calls
        self._tasks = tasks
        self._opening = anyio.Lock(fast_acquire=True)
        self._calls: Calls | None = None

    async def calls(self) -> Calls:
        """The calls; whoever comes first opens the connection, and others wait for it."""
        async with self._opening:
            found = self._calls
            if found is None:
                opened: Calls = await self._tasks.start(self._own)
                self._calls = found = opened
            return found

    async def _own(self, *, task_status: TaskStatus[Calls]) -> None:
        """Hold the connection open: the task that entered it leaves it, as its scopes need."""
        async with self._open() as calls:
            task_status.started(calls)
            await anyio.sleep_forever()


@asynccontextmanager
async def open_lazily(open_calls: OpenCalls) -> AsyncGenerator[LazyBackend]:
    """A backend that lives as long as the block."""
    async with anyio.create_task_group() as tasks:
        yield LazyBackend(open_calls, tasks)
        tasks.cancel_scope.cancel()


class OpenBackend:
    """Implements `Backend` over calls that are there already: in process, for tests and for the server itself."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def calls(self) -> Calls:
        """The calls."""
        return self._calls
