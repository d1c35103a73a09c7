"""Which server a command talks to. Above: connect, the CLI. Below: paths. Source: reference/mcp-server.md §0."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from fabro.config.paths import Paths, find_paths
from fabro.errors import InvalidInput

UNIX_URL = "http://localhost"
"""The URL behind a unix socket, where the name says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTarget:
    """A server's address: `url` is its base without a path's end, `socket` the unix socket that leads there.

    `local` is set for this machine's own server, which may be started when it does not run.
    """

    url: str
    socket: Path | None = None
    local: Paths | None = None

    def __str__(self) -> str:
        return str(self.socket) if self.socket is not None else self.url


def choose_target(server: str | None, storage_dir: str | None, environment: Mapping[str, str]) -> ServerTarget:
    """The server that `--server`, `--storage-dir`, `FABRO_SERVER` or nothing at all mean, in this order.

    Raises:
        InvalidInput: `server_invalid`: neither an http(s) URL nor the absolute path of a socket; `no_home`.
    """
    if server is not None and storage_dir is not None:
        raise InvalidInput("--server and --storage-dir exclude each other", code="server_invalid")
    named = server if server is not None or storage_dir is not None else environment.get("FABRO_SERVER")
    if named:
        return _named(named.strip())
    paths = find_paths(environment, storage_dir=storage_dir)
    return ServerTarget(url=UNIX_URL, socket=paths.socket, local=paths)


def _named(server: str) -> ServerTarget:
    if server.startswith("/"):
        return ServerTarget(url=UNIX_URL, socket=Path(server))
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment or url.userinfo:
        raise InvalidInput(
            f"the server is {server!r}; wanted an http(s) URL, or the absolute path of a unix socket",
            code="server_invalid",
            hint="Such as http://127.0.0.1:8765. Leave it out to use this machine's own server.",
        )
    return ServerTarget(url=str(url).rstrip("/"))
