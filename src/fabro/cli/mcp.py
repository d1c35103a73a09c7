"""`fabro mcp`: Fabro for MCP clients. Above: main. Below: the MCP server; loaded here and not before it is used.

Source: seed 000 "Fabro as an MCP server"; reference/mcp-server.md §4.
"""

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

from fabro import installed_version
from fabro.cli.options import Settings, settings

if TYPE_CHECKING:
    from fabro.calls import Calls
    from fabro.workflow.version import Version

CLIENT_NAME = f"fabro-mcp {installed_version()}"
"""How this program calls itself in what it creates."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def mcp() -> None:
    """Serve the run tools to MCP clients."""


@app.command()
def start(ctx: typer.Context) -> None:
    """Serve the run tools to one MCP client, over standard input and output.

    MCP clients start this by themselves. It ends when its input ends and what was asked for is answered; the runs
    that it created go on.
    """
    from fabro.mcp_server.descriptors import claim_standard_streams

    if sys.stdin is not None and sys.stdin.isatty():
        print("Waiting for an MCP client on standard input; Ctrl-C ends this.", file=sys.stderr)
    wire = claim_standard_streams()

    import anyio

    from fabro.mcp_server.server import create_server, serve_lazily
    from fabro.mcp_server.stdio import serve_stdio

    chosen = settings(ctx)
    serving = serve_lazily(lambda: _open(chosen), packager=_package)
    anyio.run(serve_stdio, create_server(serving), wire, serving.ending)


@asynccontextmanager
async def _open(chosen: Settings) -> "AsyncGenerator[Calls]":
    """Connect to the server, which is started if it is the local one and not running."""
    from fabro.client.connect import connect
    from fabro.client.target import choose_target

    target = choose_target(chosen.server, chosen.storage_dir, chosen.environment)
    async with connect(target, client_name=CLIENT_NAME, environment=chosen.environment) as calls:
        yield calls


def _package(entrypoint: str, files: Mapping[str, str]) -> "Sequence[Version]":
    """Make versions of supplied files."""
    from fabro.workflow.package import package_supplied

    package = package_supplied(entrypoint, files)
    refusal = package.refusal()
    if refusal is not None:
        raise refusal
    return package.versions
