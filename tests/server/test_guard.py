"""Which hosts, origins and kinds of content are let in, on every path of the app (reference A-02, A-03, A-04)."""

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import ASGIApp

from fabro.server.app import create_app
from fabro.testing.memory_server import service_over
from fabro.testing.memory_system import memory_system

pytestmark = pytest.mark.anyio

PATHS = ("/", "/health", "/api/v1/health", "/api/v1/runs", "/api/v1/openapi.json", "/docs", "/mcp", "/static/x")
TCP = "http://127.0.0.1:8765"


@pytest.fixture
async def app() -> AsyncIterator[ASGIApp]:
    async with memory_system() as system:
        yield create_app(service_over(system))


async def ask(app: ASGIApp, path: str, headers: list[tuple[str, str]], *, base: str = TCP) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
        request = client.build_request("GET", path)
        del request.headers["host"]
        for name, value in headers:
            request.headers = httpx.Headers([*request.headers.raw, (name.encode(), value.encode("latin-1"))])
        return await client.send(request)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        *("evil.test", "evil.test:8765", "127.0.0.1.evil.test", "localhost.evil.test", "evil.test#localhost"),
        *("localhost@evil.test", "evil.test/localhost", "0.0.0.0:8765", "10.0.0.1", "[::2]", "localhost.", ""),
        *("localhost:port", "localhost:99999", "http://localhost", "2130706433", "loc\xe4lhost", "[::1"),
    ],
)
async def test_foreign_hosts_are_refused_everywhere(app: ASGIApp, path: str, host: str) -> None:
    answer = await ask(app, path, [("host", host), ("x-forwarded-host", "localhost")])
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, "host_not_allowed")


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.test"]])
async def test_one_host_is_wanted(app: ASGIApp, hosts: list[str]) -> None:
    answer = await ask(app, "/health", [("host", host) for host in hosts])
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, "host_not_allowed")


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:1", "localhost:8765", "127.0.0.1", "127.0.0.2:9", "[::1]", "[::1]:8765"]
)
async def test_loopback_names_are_let_in(app: ASGIApp, host: str) -> None:
    assert (await ask(app, "/health", [("host", host)])).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.test", "https://localhost.evil.test:8765", "null", "", "http://127.0.0.1:8765"),
        *("http://localhost:3000", "file://", "http://localhost:8765/", "http://user@localhost:8765", "localhost"),
        *("chrome-extension://abc", "http://localhost:8765, http://localhost:8765"),
    ],
)
async def test_foreign_origins_are_refused_everywhere(app: ASGIApp, path: str, origin: str) -> None:
    answer = await ask(app, path, [("host", "localhost:8765"), ("origin", origin)])
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8765", "http://localhost:8765"),
        ("localhost", "http://localhost:80"),
        ("localhost:80", "http://localhost"),
        ("localhost", "https://localhost"),
        ("localhost:443", "https://LOCALHOST"),
        ("[::1]:8765", "http://[::1]:8765"),
    ],
)
async def test_the_same_origin_is_let_in_with_or_without_its_default_port(
    app: ASGIApp, host: str, origin: str
) -> None:
    assert (await ask(app, "/health", [("host", host), ("origin", origin)])).status_code == 200


async def test_a_unix_socket_takes_any_host(app: ASGIApp) -> None:
    async def over_unix(scope: dict[str, object], receive: object, send: object) -> None:
        await app({**scope, "server": ("/run/fabro.sock", None)}, receive, send)  # pyright: ignore[reportArgumentType]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(over_unix), base_url="http://any.test") as client:  # pyright: ignore[reportArgumentType]
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/health", headers={"origin": "http://evil.test"})).status_code == 200


async def test_a_listener_without_an_address_counts_as_tcp(app: ASGIApp) -> None:
    answer = await ask(app, "/health", [("host", "evil.test")], base="http://evil.test")
    assert answer.status_code == 403


async def test_web_sockets_are_not_spoken(app: ASGIApp) -> None:
    sent: list[str] = []

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(str(message["type"]))

    await app({"type": "websocket", "path": "/", "headers": []}, receive, send)  # pyright: ignore[reportArgumentType]
    assert sent == ["websocket.close"]
