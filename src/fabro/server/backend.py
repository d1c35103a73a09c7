"""What the HTTP door needs of the system behind it, and what it knows of itself. Above: the app, assembly. Below:
operations.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import anyio
from starlette.requests import Request
from starlette.types import Receive

from fabro.clock import Clock
from fabro.errors import FabroError, Unavailable
from fabro.operations.calls import Operations
from fabro.store.blobs import Blobs

LONGEST_CLIENT_NAME = 100

_T = TypeVar("_T")


class Backend(Protocol):
    """The running system; `fabro.assembly.System` is one."""

    @property
    def storage(self) -> Path | None:
        """Its folder, None where it keeps everything in memory."""
        ...

    @property
    def clock(self) -> Clock:
        """Its time."""
        ...

    @property
    def blobs(self) -> Blobs:
        """Where large contents lie."""
        ...

    def operations(self, client: str | None) -> Operations:
        """Everything that a caller can do."""
        ...

    async def unfinished_runs(self) -> int:
        """How many runs will still do something."""
        ...


Mode = Literal["foreground", "background"]


@dataclass(kw_only=True, slots=True)
class Service:
    """One server over its backend: shared by all requests.

    `idle_seconds` is how long it may be idle before it ends, None for ever.
    `stopping` is set when the server begins to end: streams and waits end then. `busy` counts requests that are
    being answered, and `last_request` is the clock's monotonic time of the last one's end.
    """

    backend: Backend
    version: str
    started_at: datetime
    mode: Mode = "foreground"
    idle_seconds: float | None = None
    listening: tuple[str, ...] = ()
    heartbeat_seconds: float = 15.0
    stopping: anyio.Event = field(default_factory=anyio.Event)
    busy: int = 0
    last_request: float = 0.0


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


def operations_of(request: Request) -> Operations:
    """What the caller can do, under the name that it gives itself in `X-Fabro-Client`."""
    said = "".join(char for char in request.headers.get("x-fabro-client", "") if char.isprintable()).strip()
    return service_of(request).backend.operations(said[:LONGEST_CLIENT_NAME] or None)


async def while_wanted(service: Service, receive: Receive, work: Callable[[], Awaitable[_T]]) -> _T | None:
    """The result of long work; None when the client went away meanwhile. The request's body has been read.

    Raises:
        Unavailable: `server_stopping`: the server began to end meanwhile.
    """
    result: _T | None = None
    failure: FabroError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_after, group.cancel_scope, service.stopping.wait)
        group.start_soon(_cancel_after, group.cancel_scope, lambda: gone(receive))
        try:
            result = await work()
        except FabroError as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if result is None and service.stopping.is_set():
        raise Unavailable("the server is stopping", code="server_stopping", hint="Ask again when it is back.")
    return result


async def gone(receive: Receive) -> None:
    """Return when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel_after(scope: anyio.CancelScope, wait: Callable[[], Awaitable[object]]) -> None:
    await wait()
    scope.cancel()
