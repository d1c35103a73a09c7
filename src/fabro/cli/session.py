"""A command's way to the server: settings in, calls out. Above: every command. Below: the client, which is loaded
when it is used and not for a help text.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio

from fabro import installed_version
from fabro.calls import Calls
from fabro.cli.options import Settings

if TYPE_CHECKING:
    from fabro.client.http import Http

CLIENT_NAME = f"fabro-cli {installed_version()}"
"""How this program calls itself in what it creates."""
Result = TypeVar("Result")


@asynccontextmanager
async def connected(settings: Settings) -> AsyncGenerator[Calls]:
    """The calls of the server that the settings choose, which is started if it is the local one and not running.

    Raises:
        FabroError: the client's, of which Unavailable and Unauthorized are the usual ones.
    """
    from fabro.client.connect import connect
    from fabro.client.target import choose_target

    target = choose_target(settings.server, settings.storage_dir, settings.environment)
    async with connect(target, client_name=CLIENT_NAME, environment=settings.environment) as calls:
        yield calls


def requests(settings: Settings) -> "AbstractAsyncContextManager[Http]":
    """Plain requests to that server, for what is no part of the calls; nothing is started."""
    from fabro.client.http import open_http
    from fabro.client.target import choose_target

    target = choose_target(settings.server, settings.storage_dir, settings.environment)
    return open_http(target, client_name=CLIENT_NAME)


def ask_server(settings: Settings, act: Callable[[Calls], Awaitable[Result]]) -> Result:
    """Run one conversation with the server from synchronous code."""

    async def conversation() -> Result:
        async with connected(settings) as calls:
            return await act(calls)

    return anyio.run(conversation)
