"""From a server's address to what can be done there. Above: the CLI, the MCP server. Below: the calls, the local
server.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from fabro.calls import Calls
from fabro.client.calls import calls_over
from fabro.client.http import open_http
from fabro.client.local_server import ensure_running
from fabro.client.target import ServerTarget
from fabro.clock import Clock, SystemClock


@asynccontextmanager
async def connect(
    target: ServerTarget,
    *,
    client_name: str,
    environment: Mapping[str, str],
    start: bool = True,
    clock: Clock | None = None,
) -> AsyncGenerator[Calls]:
    """The calls of a server, for the length of a block.

    Args:
        target: the server.
        client_name: how this client calls itself; what it creates bears the name.
        environment: what a local server that has to be started gets.
        start: whether this machine's own server is started when it does not run, now and later.
        clock: what waiting is measured on.

    Raises:
        FabroError: the local server can't be started; the error is its own.
    """
    revive: Callable[[], Awaitable[object]] | None = None
    if start and target.local is not None:
        revive = partial(ensure_running, target.local, environment)
        await revive()
    async with open_http(target, client_name=client_name, revive=revive) as http:
        yield calls_over(http, clock or SystemClock())
