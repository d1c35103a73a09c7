"""`fabro version`. Above: main. Below: the client, and only where a server may answer: this must start at once."""

from typing import TYPE_CHECKING

import typer

from fabro import installed_version
from fabro.cli.options import Settings, settings
from fabro.cli.output import output_for
from fabro.config.paths import find_paths
from fabro.errors import FabroError

if TYPE_CHECKING:
    from fabro.client.shapes import Health


def version(ctx: typer.Context) -> None:
    """Show the version of command and server.

    The server's is shown when one answers; none is started.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    server, problem = None, None
    try:
        server = _health(chosen)
    except FabroError as error:
        problem = error.message
    if output.as_json:
        output.json({"client": installed_version(), "server": server and server.version, "problem": problem})
        return
    output.line(f"fabro {installed_version()}")
    if server is not None:
        output.line(f"server {server.version} (process {server.pid}, {server.mode})")
    elif problem is not None:
        output.note(f"no server: {problem}")


def _health(chosen: Settings) -> "Health | None":
    """What the server says; where no server is named and there is no socket, nothing is loaded to ask."""
    is_named = chosen.server or chosen.environment.get("FABRO_SERVER")
    if not is_named and not find_paths(chosen.environment, storage_dir=chosen.storage_dir).socket.exists():
        return None
    import anyio

    from fabro.cli.health import server_health

    return anyio.run(server_health, chosen)
