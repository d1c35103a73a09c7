"""A server in this process, on a real unix socket, over whatever system it is given. Above: tests of doors and of
clients. Below: the server, the client.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from fabro import installed_version
from fabro.client.target import UNIX_URL, ServerTarget
from fabro.server.backend import Backend, Service
from fabro.server.listen import unix_listener
from fabro.server.process import answer_until_stopped


def service_over(backend: Backend, *, heartbeat_seconds: float = 15.0) -> Service:
    """A service that listens nowhere, for apps that are called directly."""
    return Service(
        backend=backend,
        version=installed_version(),
        started_at=backend.clock.now(),
        heartbeat_seconds=heartbeat_seconds,
    )


@asynccontextmanager
async def serving(service: Service, socket: Path) -> AsyncGenerator[ServerTarget]:
    """The service on a unix socket, for the length of a block or until it is stopped; its address for clients."""
    with unix_listener(socket) as listener:
        async with anyio.create_task_group() as group:
            group.start_soon(answer_until_stopped, service, [listener])
            yield ServerTarget(url=UNIX_URL, socket=socket)
            service.stopping.set()
