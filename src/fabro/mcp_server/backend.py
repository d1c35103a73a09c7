"""What tools work on, and a connection to it that is opened by the first call that needs one.

Above: the server, the tools. Below: the calls. Source: reference/mcp-server.md §0: listing tools and refusing
arguments need neither a server nor credentials, and an opening that failed is tried again by the next call.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup, TaskStatus

from fabro.calls import Calls
from fabro.errors import Unavailable
from fabro.workflow.version import Version

OpenCalls: TypeAlias = Callable[[], AbstractAsyncContextManager[Calls]]
"""Opens a connection: entered once and left when the server ends, always by the same task."""
Packager: TypeAlias = Callable[[str, Mapping[str, str]], Sequence[Version]]
"""Makes versions of an entrypoint and its files: dependencies first, the entrypoint's own version last."""


class Backend(Protocol):
    """Where a tool gets its calls from."""

    def use(self) -> AbstractAsyncContextManager[Calls]:
        """The calls, for as long as the block lasts.

        Raises:
            FabroError: there is no connection to be had.
        """
        ...


@dataclass(slots=True)
class _Connection:
    """One open connection; it ends when nobody may start to use it any more and the last user has gone."""

    calls: Calls
    users: int = 0
    retired: bool = False
    unused: anyio.Event = field(default_factory=anyio.Event)

    def settle(self) -> None:
        if self.retired and self.users == 0:
            self.unused.set()


class LazyBackend:
    """Implements `Backend`: opens at the first use, and anew at the next use after the connection broke."""

    def __init__(self, open_calls: OpenCalls, tasks: TaskGroup) -> None:
        self._open = open_calls
        self._tasks = tasks
        self._opening = anyio.Lock(fast_acquire=True)
        self._connection: _Connection | None = None

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Calls]:
        """The calls, for as long as the block lasts; a block that ends with Unavailable retires the connection."""
        connection = await self._connect()
        connection.users += 1
        try:
            yield connection.calls
        except Unavailable:
            self._retire(connection)
            raise
        finally:
            connection.users -= 1
            connection.settle()

    async def _connect(self) -> _Connection:
        async with self._opening:
            connection = self._connection
            if connection is None:
                opened: _Connection = await self._tasks.start(self._own)
                self._connection = connection = opened
            return connection

    async def _own(self, *, task_status: TaskStatus[_Connection]) -> None:
        """Hold a connection open: one task enters it and leaves it, as its own scopes need."""
        async with self._open() as calls:
            connection = _Connection(calls=calls)
            task_status.started(connection)
            await connection.unused.wait()

    def _retire(self, connection: _Connection) -> None:
        connection.retired = True
        if self._connection is connection:
            self._connection = None


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

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Calls]:
        """The calls."""
        yield self._calls
