"""Requests to a server, and its errors as ours. Above: the calls. Below: httpx.

A server's error comes back as the class and with the code that an operation in this process would have raised.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

import httpx

from fabro import installed_version
from fabro.client.decode import decode
from fabro.client.target import ServerTarget
from fabro.errors import (
    Conflict,
    FabroError,
    Forbidden,
    InvalidInput,
    NotFound,
    StorageError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from fabro.json_value import JsonObject

API = "/api/v1"
VERSION_HEADER = "x-fabro-version"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
KEEP_ALIVE_SECONDS = 30.0
"""How long an unused connection is kept; less than the server keeps it."""
START_HINT = "Start the server: `fabro server start`."
_CLASSES: Mapping[int, type[FabroError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    503: Unavailable,
}

_T = TypeVar("_T")


DROPPED = (httpx.NetworkError, httpx.RemoteProtocolError)
"""What a client sees of a server that is not there, or that ends while it is asked; who only reads asks again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A successful answer."""

    content: bytes
    version: str

    def read(self, kind: type[_T]) -> _T:
        """The answer as a fact.

        Raises:
            Unavailable: `version_mismatch`.
        """
        return decode(kind, self.content, server_version=self.version)


class Http:
    """A connection pool to one server. `revive` starts a local server that does not run (any more)."""

    def __init__(
        self, target: ServerTarget, http: httpx.AsyncClient, *, revive: Callable[[], Awaitable[object]] | None
    ) -> None:
        self._target = target
        self._http = http
        self._revive = revive

    async def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int | list[str]] | None = None,
        body: object = None,
        content: bytes | None = None,
        seconds: float = ANSWER_SECONDS,
        revive: bool = True,
    ) -> Answer:
        """One request and its answer.

        Args:
            method: GET or POST.
            path: behind `/api/v1`, its parts already quoted.
            params: the query.
            body: what to send as JSON.
            content: JSON to send as it is.
            seconds: how long the answer may take.
            revive: whether a local server that is not there is started first.

        Raises:
            FabroError: what the server says.
            Unavailable: `server_unreachable`: there is no server, or it does not answer.
        """
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        request = self._http.build_request(
            method,
            API + path,
            params=params,
            content=content,
            headers={"content-type": "application/json"} if content is not None else None,
            timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
        )
        response = await self._send(request, revive=revive)
        raise_for(response, response.content)
        return Answer(content=response.content, version=response.headers.get(VERSION_HEADER, ""))

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str], seconds: float
    ) -> AsyncGenerator[httpx.Response]:
        """A streamed answer; `seconds` is how long it may be silent. A local server is not started for it.

        Raises:
            FabroError: as for `ask`.
        """
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        try:
            async with self._http.stream("GET", API + path, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    raise_for(response, await response.aread())
                yield response
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def _send(self, request: httpx.Request, *, revive: bool) -> httpx.Response:
        try:
            return await self._http.send(request)
        except httpx.TransportError as error:
            again = isinstance(error, DROPPED if request.method == "GET" else httpx.ConnectError)
            if not again or not revive or self._revive is None:
                raise self._unreachable(error) from error
        await self._revive()
        return await self._send(request, revive=False)

    async def revive(self) -> None:
        """Start a local server that is not there; nothing where the server is elsewhere or is there.

        Raises:
            FabroError: it can't be started.
        """
        if self._revive is not None:
            await self._revive()

    def _unreachable(self, error: httpx.TransportError) -> Unavailable:
        silent = isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout)
        what = "does not answer" if silent else "can't be reached"
        reason = str(error) or type(error).__name__
        hint = START_HINT if self._target.local is not None else "Check its address, and that it runs."
        return Unavailable(
            f"the server at {self._target} {what}: {reason}",
            code="server_unreachable",
            hint=hint if not silent else None,
        )


@asynccontextmanager
async def open_http(
    target: ServerTarget,
    *,
    client_name: str,
    revive: Callable[[], Awaitable[object]] | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[Http]:
    """A connection pool for the length of a block. Proxies are for servers elsewhere only.

    Args:
        target: the server.
        client_name: how this client calls itself.
        revive: starts a local server that is not there.
        transport: carries the requests instead of the network.
    """
    limits = httpx.Limits(max_keepalive_connections=8, keepalive_expiry=KEEP_ALIVE_SECONDS)
    if target.socket is not None and transport is None:
        transport = httpx.AsyncHTTPTransport(uds=str(target.socket), limits=limits, verify=False)
    async with httpx.AsyncClient(
        base_url=target.url,
        transport=transport,
        verify=target.url.startswith("https:"),  # without TLS no certificates need to be loaded
        limits=limits,
        headers={"x-fabro-client": _printable(client_name), "user-agent": f"fabro/{installed_version()}"},
        trust_env=target.socket is None and not _is_loopback(target.url),
        follow_redirects=False,
    ) as http:
        yield Http(target, http, revive=revive)


def _printable(name: str) -> str:
    """The name as a header can hold it."""
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in name)


def raise_for(response: httpx.Response, content: bytes) -> None:
    """Raise what an answer tells, if it tells an error.

    Raises:
        FabroError: the server's own error.
        Unavailable: `not_fabro`: what answers is another program.
    """
    if response.is_success and VERSION_HEADER in response.headers:
        return
    told = _first_error(content)
    if told is None or VERSION_HEADER not in response.headers:
        raise Unavailable(
            f"{response.request.url} answers with status {response.status_code}, and not as this server does",
            code="not_fabro",
            hint="Another program listens there; choose another --server or --storage-dir.",
        )
    raise _error(response.status_code, told)


def _error(status: int, told: JsonObject) -> FabroError:
    code, hint, details = told.get("code"), told.get("hint"), told.get("details")
    kind = _CLASSES.get(status)
    if kind is None and status >= 500:
        kind = FabroError if code in (None, FabroError.default_code) else StorageError
    message = str(told.get("detail") or told.get("title") or f"status {status}")
    if code == FabroError.default_code:
        message = f"{message} (request {told.get('request_id')})"
    return (kind or InvalidInput)(
        message,
        code=str(code) if code else None,
        hint=str(hint) if hint else None,
        details=cast("JsonObject", details) if isinstance(details, dict) else None,
    )


def _first_error(content: bytes) -> JsonObject | None:
    try:
        body: object = json.loads(content)
    except ValueError:
        return None
    errors = cast("dict[str, object]", body).get("errors") if isinstance(body, dict) else None
    first = cast("list[object]", errors)[0] if isinstance(errors, list) and errors else None
    return cast("JsonObject", first) if isinstance(first, dict) else None


def _is_loopback(url: str) -> bool:
    host = httpx.URL(url).host
    return host in ("localhost", "::1") or host.startswith("127.")
