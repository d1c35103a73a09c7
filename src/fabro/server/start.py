"""Starting where a server may run already, or still. Above: the CLI. Below: the process, the client's health.

A storage folder that is in use belongs to a server that answers, or to one that is on its way in or out; for the
latter this waits a little.
"""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import anyio
import structlog

from fabro.client.local_server import health
from fabro.client.shapes import Health
from fabro.clock import Clock
from fabro.errors import Conflict, FabroError
from fabro.server.backend import Backend, Service
from fabro.server.process import ServerOptions, serve

PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.1

Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Backend]]
"""Makes the system anew for each try."""

_logger = structlog.get_logger(__name__)


async def serve_when_free(
    options: ServerOptions,
    open_backend: Opening,
    announce: Callable[[Service], None],
    clock: Clock,
) -> Health | None:
    """Serve until SIGTERM, SIGINT or idleness; where another server answers, return at once what it says of itself.

    Raises:
        Conflict: `storage_in_use` by a process that neither answers nor ends within 10 s, or as `serve` says.
        StorageError: as `serve` says.
    """
    found: Health | None = None
    failure: FabroError | None = None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            stop = anyio.Event()
            group.start_soon(_stop_on_signal, signals, stop)
            try:
                found = await _serve_when_free(options, open_backend, announce, clock, stop)
            except FabroError as error:  # to be raised as it is, and not in a group
                failure = error
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return found


async def _serve_when_free(
    options: ServerOptions,
    open_backend: Opening,
    announce: Callable[[Service], None],
    clock: Clock,
    stop: anyio.Event,
) -> Health | None:
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while not stop.is_set():
        try:
            await serve(options, open_backend(), announce, stop)
        except Conflict as error:
            if error.code != "storage_in_use" or clock.monotonic() >= deadline:
                raise
        else:
            return None
        found = await health(options.paths)
        if found is not None:
            return found
        await clock.sleep(_LOOK_SECONDS)
    return None


async def _stop_on_signal(signals: AsyncIterator[signal.Signals], stop: anyio.Event) -> None:
    async for received in signals:
        _logger.info("told to stop", signal=received.name)
        stop.set()
