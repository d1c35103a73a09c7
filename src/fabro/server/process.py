"""A server from the opening of its storage to its end. Above: start. Below: the app, listeners, uvicorn.

At its end, first nobody new is let in, then streams and waits end,
then answers that are under way get two seconds, then the system lets its runs go: they go on at the next start.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket as Socket  # noqa: N812 - a type among values

import anyio
import structlog
import uvicorn

from fabro import installed_version
from fabro.config.paths import Paths
from fabro.errors import FabroError, StorageError
from fabro.server.app import create_app
from fabro.server.backend import Backend, Mode, Service
from fabro.server.listen import Address, tcp_listener, unix_listener, url_of
from fabro.server.logging import configure_logging

ANSWER_SECONDS = 2
"""How long answers that are under way may take when the server ends."""
KEEP_ALIVE_SECONDS = 60
"""How long a silent connection stays open; longer than clients keep theirs, so that none is cut when it is used."""
LOOK_SECONDS = 60.0
"""How often an idle server looks whether it may end."""

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerOptions:
    """What a server is told: where it lies, where it listens beside its unix socket, and when it ends by itself."""

    paths: Paths
    tcp: Address | None = None
    mode: Mode = "foreground"
    idle_seconds: float | None = None


async def serve(
    options: ServerOptions,
    backend: AbstractAsyncContextManager[Backend],
    announce: Callable[[Service], None],
    stop: anyio.Event,
) -> None:
    """Serve until told to stop, or until idleness ends it.

    Args:
        options: what the server is told.
        backend: the system, not yet opened; it is closed when this returns.
        announce: called once clients can connect.
        stop: set from outside, at any time, when the server shall end; set from inside when it has been idle.

    Raises:
        Conflict: the storage folder, the socket or the port is in use.
        StorageError: the storage folder can't be used.
    """
    _make_home(options.paths)
    async with backend as system:
        with _listeners(options) as listeners:
            configure_logging(options.paths.log_file if options.mode == "background" else None)
            service = Service(
                backend=system,
                version=installed_version(),
                started_at=system.clock.now(),
                mode=options.mode,
                idle_seconds=options.idle_seconds,
                listening=tuple(url_of(listener) for listener in listeners),
                stopping=stop,
            )
            _logger.info("the server listens", at=" ".join(service.listening), version=service.version)
            announce(service)
            async with anyio.create_task_group() as group:
                if options.idle_seconds is not None:
                    group.start_soon(stop_when_idle, service, options.idle_seconds)
                await answer_until_stopped(service, listeners)
                group.cancel_scope.cancel()
            _logger.info("the server stops")
    _logger.info("the server has ended")


async def answer_until_stopped(service: Service, listeners: Sequence[Socket]) -> None:
    """Answer what comes in on the listeners, which are closed at the end, until the service is stopping."""
    server = _Server(
        uvicorn.Config(
            create_app(service),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=ANSWER_SECONDS,
        )
    )

    async def exit_when_stopping() -> None:
        await service.stopping.wait()
        server.should_exit = True

    async with anyio.create_task_group() as group:
        group.start_soon(exit_when_stopping)
        await server.serve(sockets=list(listeners))
        group.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Uvicorn without its own handling of signals, which ends a process by the signal instead of with code 0."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield


async def stop_when_idle(service: Service, seconds: float) -> None:
    """Stop the service when for so long nobody has asked for anything and no run was unfinished."""
    clock = service.backend.clock
    quiet_since = clock.monotonic()
    while True:
        await clock.sleep(min(LOOK_SECONDS, seconds))
        if service.busy or service.last_request > quiet_since or await _has_work(service):
            quiet_since = clock.monotonic()
        elif clock.monotonic() - quiet_since >= seconds:
            _logger.info("the server stops, having been idle", seconds=seconds)
            service.stopping.set()
            return


async def _has_work(service: Service) -> bool:
    try:
        return await service.backend.unfinished_runs() > 0
    except FabroError:
        return True


@contextmanager
def _listeners(options: ServerOptions) -> Generator[list[Socket]]:
    with ExitStack() as stack:
        listeners = [stack.enter_context(unix_listener(options.paths.socket))]
        if options.tcp is not None:
            listeners.append(stack.enter_context(tcp_listener(options.tcp)))
        yield listeners


def _make_home(paths: Paths) -> None:
    """Make the folder that holds socket and storage, where both are at their usual places."""
    home: Path = paths.storage.parent
    if paths.socket.parent == home:
        try:
            home.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"folder {home} can't be made: {error.strerror or error}", hint="Set FABRO_HOME, or --storage-dir."
            ) from error
