"""Starting where a server may run already, or still. Above: the CLI. Below: the process, the client's health.

A storage folder that is in use belongs to a server that answers, or to one that is on its way in or out; for the
latter this waits a little.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fabro.client.local_server import health
from fabro.client.shapes import Health
from fabro.clock import Clock
from fabro.errors import Conflict
from fabro.server.backend import Backend, Service
from fabro.server.process import ServerOptions, serve

PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.1


async def serve_when_free(
    options: ServerOptions,
    open_backend: Callable[[], AbstractAsyncContextManager[Backend]],
    announce: Callable[[Service], None],
    clock: Clock,
) -> Health | None:
    """Serve until the server ends, or, where another one answers already, return at once what that says of itself.

    Raises:
        Conflict: `storage_in_use` by a process that neither answers nor ends within 10 s, or as `serve` says.
        StorageError: as `serve` says.
    """
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            await serve(options, open_backend(), announce)
        except Conflict as error:
            if error.code != "storage_in_use" or clock.monotonic() >= deadline:
                raise
        else:
            return None
        found = await health(options.paths)
        if found is not None:
            return found
        await clock.sleep(_LOOK_SECONDS)
