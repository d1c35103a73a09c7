"""`fabro server`: the server as a process of this machine. Above: main. Below: assembly, the server, the client."""

import math
import os
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from fabro.cli.boundary import FAILURE, Usage
from fabro.cli.options import Settings, settings
from fabro.cli.output import Output, output_for
from fabro.clock import to_text
from fabro.config.paths import Paths, find_paths
from fabro.errors import Conflict, Unavailable

if TYPE_CHECKING:
    from fabro.client.local_server import StartOptions
    from fabro.client.shapes import Health
    from fabro.server.backend import Service
    from fabro.server.process import ServerOptions

IDLE_MINUTES = 30.0
"""How long a server in the background may be idle unless told otherwise."""
STOP_SECONDS = 10.0
MOST_COUNTED = 1000
"""As far as a server counts its unfinished runs."""

Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="How long the server may take to end.")
]
Listen = Annotated[
    str | None, typer.Option("--listen", metavar="HOST:PORT", help="Listen on this loopback address as well.")
]
Idle = Annotated[
    float | None,
    typer.Option(
        "--idle-minutes", min=0.0, metavar="MINUTES", help="With --background: end when idle so long; 0 is never."
    ),
]

app = typer.Typer(name="server", add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def server() -> None:
    """Start, stop and look at this machine's server. Other commands start it by themselves when they need it."""


@app.command()
def start(
    ctx: typer.Context,
    background: Annotated[
        bool, typer.Option("--background/--foreground", help="Return once it answers, or stay until it ends.")
    ] = False,
    listen: Listen = None,
    idle_minutes: Idle = None,
    background_child: Annotated[bool, typer.Option("--background-child", hidden=True)] = False,
) -> None:
    """Start the server; in the foreground unless told otherwise."""
    chosen = settings(ctx)
    if idle_minutes is not None and not (background or background_child):
        raise Usage("--idle-minutes goes with --background", code="usage")
    paths = paths_of(chosen)
    if background:
        from fabro.client.local_server import StartOptions

        anyio.run(_start_in_background, paths, chosen, StartOptions(listen=listen, idle_minutes=idle_minutes))
        return
    from fabro.server.listen import parse_address
    from fabro.server.process import ServerOptions

    if background_child:
        os.chdir("/")  # so that no folder is kept from being unmounted
    minutes = IDLE_MINUTES if idle_minutes is None else idle_minutes
    options = ServerOptions(
        paths=paths,
        tcp=parse_address(listen) if listen is not None else None,
        mode="background" if background_child else "foreground",
        idle_seconds=minutes * 60 if background_child and minutes else None,
    )
    anyio.run(_serve, options, chosen)


@app.command()
def stop(ctx: typer.Context, timeout: Timeout = STOP_SECONDS) -> None:
    """Stop the server. Unfinished runs go on when it is started again."""
    from fabro.client import local_server

    chosen = settings(ctx)
    paths = paths_of(chosen)

    async def act() -> int | None:
        return await local_server.stop(paths, seconds=timeout)

    pid = anyio.run(act)
    printer = output_for(chosen)
    if printer.as_json:
        printer.json({"stopped": pid is not None, "pid": pid})
    elif pid is None:
        printer.line(f"No server runs on {paths.storage}.")
    else:
        printer.line(f"The server (process {pid}) has ended. Unfinished runs go on at the next start.")


@app.command()
def restart(ctx: typer.Context, timeout: Timeout = STOP_SECONDS) -> None:
    """Stop the server, and start it in the background, with the same options."""
    from fabro.client import local_server

    chosen = settings(ctx)
    paths = paths_of(chosen)

    async def act() -> None:
        options = local_server.StartOptions()
        try:
            found = await local_server.health(paths)
        except Unavailable as error:
            output_for(chosen).note(f"{error.message}. Its options are unknown; it starts with the usual ones.")
        else:
            options = local_server.options_of(found) if found is not None else options
        await local_server.stop(paths, seconds=timeout)
        await _start_in_background(paths, chosen, options)

    anyio.run(act)


@app.command()
def status(ctx: typer.Context) -> None:
    """Show whether the server runs (exit code 0) or not (1), and where."""
    from fabro.client import local_server

    chosen = settings(ctx)
    paths = paths_of(chosen)
    found = anyio.run(local_server.health, paths)
    printer = output_for(chosen)
    if printer.as_json:
        told = {"running": found is not None, "server": found, "storage": str(paths.storage)}
        printer.json({**told, "log_file": str(paths.log_file)})
    elif found is not None:
        _describe(found, paths, printer)
    else:
        printer.line(f"No server runs on {paths.storage}.")
        printer.note("Start it with `fabro server start --background`; other commands do so by themselves.")
    if found is None:
        raise typer.Exit(FAILURE)


def paths_of(chosen: Settings) -> Paths:
    """The paths of this machine's server.

    Raises:
        Usage: `--server` names another one.
    """
    if chosen.server is not None:
        raise Usage(
            "`fabro server` is about this machine's own server; it does not take --server",
            hint="Use --storage-dir to choose among several.",
        )
    return find_paths(chosen.environment, storage_dir=chosen.storage_dir)


async def _start_in_background(paths: Paths, chosen: Settings, options: "StartOptions") -> None:
    from fabro.client import local_server

    printer = output_for(chosen)
    found = await local_server.health(paths)
    was_there = found is not None
    found = found or await local_server.start(paths, chosen.environment, *options.arguments)
    _check_options(found, options)
    if printer.as_json:
        printer.json({"started": not was_there, "server": found})
        return
    printer.line(f"The server {'runs already' if was_there else 'was started'} (process {found.pid}).")
    _describe(found, paths, printer)


async def _serve(options: "ServerOptions", chosen: Settings) -> None:
    from fabro.assembly import System, open_system
    from fabro.clock import SystemClock
    from fabro.server.start import serve_when_free

    paths, clock, printer = options.paths, SystemClock(), output_for(chosen)

    def open_backend() -> AbstractAsyncContextManager[System]:
        return open_system(paths.storage, chosen.environment, clock, socket=str(paths.socket))

    def announce(service: "Service") -> None:
        if options.mode == "foreground":
            _announce(service, paths, printer)

    found = await serve_when_free(options, open_backend, announce, clock)
    if found is not None and options.mode == "foreground":
        raise Conflict(
            f"a server runs on {paths.storage} already (process {found.pid}, {found.mode})",
            code="server_running",
            hint="`fabro server status` shows it, `fabro server stop` ends it.",
        )


def _announce(service: "Service", paths: Paths, printer: Output) -> None:
    if printer.as_json:
        printer.json({"version": service.version, "pid": os.getpid(), "listening": service.listening})
        return
    printer.line(f"fabro {service.version} listens on {' and '.join(service.listening)}.")
    printer.line(
        f"Its storage is {paths.storage}. Ctrl-C or `fabro server stop` ends it; runs go on at the next start."
    )


def _describe(found: "Health", paths: Paths, printer: Output) -> None:
    count = found.unfinished_runs
    rows = {
        "listens on": " and ".join(found.listening),
        "process": f"{found.pid}, in the {found.mode}, version {found.version}, since {to_text(found.started_at)}",
        "storage": found.storage or "memory",
        "unfinished runs": f"{count}{' or more' if count >= MOST_COUNTED else ''}",
    }
    if found.mode == "background":
        rows["log"] = str(paths.log_file)
    for name, value in rows.items():
        printer.line(f"{name + ':':17}{value}")


def _check_options(found: "Health", options: "StartOptions") -> None:
    """See that the server that runs has the options that were given.

    Raises:
        Conflict: `server_running`, with others.
        InvalidInput: as `parse_address` says.
    """
    listen, minutes = options.listen, options.idle_minutes
    if listen is not None and not _listens(found, listen):
        lacking = f"not on {listen}: it listens on {' and '.join(found.listening)}"
    elif minutes is not None and not math.isclose(
        minutes, -1 if found.idle_minutes is None else found.idle_minutes
    ):
        told = "in the foreground" if found.idle_minutes is None else f"--idle-minutes {found.idle_minutes:g}"
        lacking = f"not with --idle-minutes {minutes:g}: it runs {told}"
    else:
        return
    raise Conflict(
        f"a server runs already (process {found.pid}), but {lacking}",
        code="server_running",
        hint="End it with `fabro server stop`, and start it again with these options.",
    )


def _listens(found: "Health", listen: str) -> bool:
    """Whether a server listens there; on port 0, whether it does on any port of that host."""
    from fabro.server.listen import parse_address

    address = parse_address(listen)
    wanted = f"http://{address}"
    if address.port:
        return wanted in found.listening
    return any(place.startswith(wanted.removesuffix("0")) for place in found.listening)
