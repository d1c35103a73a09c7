"""What every request passes first and every answer last: ids, headers, the guard, limits, the log.

Above: uvicorn. Below: the app. It is plain ASGI, so that streams and errors of all mounts go through it alike.
"""

import itertools
from urllib.parse import quote

import structlog
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabro.client.decode import adapter
from fabro.client.shapes import ErrorBody
from fabro.errors import FabroError
from fabro.ids import new_run_id
from fabro.server.backend import Service
from fabro.server.body_limit import limited
from fabro.server.errors import REQUEST_ID, body_of, status_of, unexpected
from fabro.server.guard import refusal

VERSION_HEADER = "x-fabro-version"

_logger = structlog.get_logger(__name__)


def answer(error: FabroError, request_id: str) -> Response:
    """The response that tells an error."""
    content = adapter(ErrorBody).dump_json(body_of(error, request_id), exclude_none=True)
    return Response(content, status_code=status_of(error).value, media_type="application/json")


class Edge:
    """Wraps the app of one service."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._prefix = new_run_id(service.started_at)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Web sockets are not spoken here."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        clock, service = self._service.backend.clock, self._service
        exchange = Exchange(send, f"{self._prefix}-{next(self._numbers)}", service.version)
        scope.setdefault("state", {})["request_id"] = exchange.request_id
        began = clock.monotonic()
        service.busy += 1
        try:
            await self._serve(scope, receive, exchange)
        finally:
            service.busy -= 1
            service.last_request = clock.monotonic()
            exchange.log(scope, seconds=service.last_request - began)

    async def _serve(self, scope: Scope, receive: Receive, exchange: "Exchange") -> None:
        refused = refusal(scope)
        try:
            if refused is None:
                await self._app(scope, limited(scope, receive), exchange.send)
                return
        except Exception:
            _logger.exception("a request failed", request_id=exchange.request_id, path=quote(scope["path"]))
            if exchange.status is not None:
                return
            refused = unexpected()
        await answer(refused, exchange.request_id)(scope, receive, exchange.send)


class Exchange:
    """One answer on its way out: `status` is None until it begins."""

    def __init__(self, send: Send, request_id: str, version: str) -> None:
        self._send = send
        self._version = version
        self.request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        """Pass a message on; the first gets the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.request_id
            headers[VERSION_HEADER] = self._version
            headers["x-content-type-options"] = "nosniff"
            headers.setdefault("cache-control", "no-store")
            if self.status == 413:  # what is left of the body is not waited for
                headers["connection"] = "close"
        await self._send(message)

    def log(self, scope: Scope, *, seconds: float) -> None:
        """Write the request down: the path without its query, the status (None: nobody waited for it)."""
        loud = (self.status or 0) >= 400 or scope["method"] != "GET"
        level = _logger.info if loud else _logger.debug
        level(
            "request",
            method=scope["method"],
            path=quote(scope["path"]),
            status=self.status,
            ms=round(seconds * 1000, 1),
            request_id=self.request_id,
        )
