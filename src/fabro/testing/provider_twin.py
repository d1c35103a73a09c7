"""A stand-in for the providers of language models. Above: tests. Below: the standard library's HTTP server, and
`provider_wires` for the protocols.

It listens on loopback, speaks OpenAI's chat completions and responses, Anthropic's messages and Gemini's generate,
whole and streamed, and answers from a script whose last entry repeats. The official client libraries take it for
the real thing when their base URL points at it:

    with ProviderTwin([Answer(text="hello")]) as twin:
        client = OpenAI(base_url=twin.openai_url, api_key="any")
"""

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, TypeAlias

import pydantic

from fabro.json_value import JsonObject
from fabro.models.endpoint import Endpoint, Wire
from fabro.models.port import ModelRef
from fabro.testing.provider_wires import Answer, WireFormat, encode_event, format_for

__all__ = ["Answer", "CutOff", "Failure", "Garbage", "Hang", "ProviderTwin", "Request"]

_MAX_REQUEST = 16 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An error by status, in the protocol's own body; `code` is the provider's word for it."""

    status: int
    code: str = "error"
    message: str = "it did not work"
    retry_after: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hang:
    """Take the request and say nothing until the twin is closed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Garbage:
    """Status 200 with a body that is not what the protocol wants."""

    body: str = "<html>gateway</html>"


@dataclass(frozen=True, kw_only=True, slots=True)
class CutOff:
    """A streamed answer without its end: the stream ends early, or with `abrupt` the connection breaks."""

    text: str = "half an ans"
    abrupt: bool = False


Reply: TypeAlias = Answer | Failure | Hang | Garbage | CutOff
"""One entry of a script."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a client sent: path, headers with lower-case names, the JSON body."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject


class ProviderTwin:
    """A context manager that serves `script` on a free loopback port and keeps the requests that came."""

    def __init__(self, script: Sequence[Reply]) -> None:
        self._script = list(script)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._turn = threading.Lock()
        self.closing = threading.Event()
        self.requests: list[Request] = []

    def endpoint(self, wire: Wire, ref: ModelRef) -> Endpoint:
        """The twin as a model's address, for `fabro.models.catalogue.open_endpoint`."""
        base_url = self.openai_url if wire in (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES) else self.url
        return Endpoint(ref=ref, wire=wire, base_url=base_url, key="twin-key")

    @property
    def url(self) -> str:
        """The base URL for Anthropic's and Google's clients."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's clients."""
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: Request) -> Reply:
        """Keep `request` and give the script's next entry."""
        with self._turn:
            reply = self._script[min(len(self.requests), len(self._script) - 1)]
            self.requests.append(request)
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, twin: ProviderTwin) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.twin = twin


class _Wanted(pydantic.BaseModel):
    """The parts of a request's body that every protocol shares."""

    model: str = ""
    stream: bool = False


_BODY: pydantic.TypeAdapter[dict[str, pydantic.JsonValue]] = pydantic.TypeAdapter(dict[str, pydantic.JsonValue])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that makes this handler

    def do_POST(self) -> None:
        """Answer one request from the script."""
        path = self.path.partition("?")[0]
        wire = format_for(path)
        raw = self.rfile.read(min(int(self.headers.get("content-length", "0")), _MAX_REQUEST))
        if wire is None:
            self._send_json(404, {"error": {"message": f"no such path: {path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=path, headers=headers, body=_BODY.validate_json(raw))
        # A client that gave up has closed its end.
        with contextlib.suppress(ConnectionError):
            self._play(self.server.twin.take(request), wire, request)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Tests want no log."""

    def _play(self, reply: Reply, wire: WireFormat, request: Request) -> None:
        wanted = _Wanted.model_validate(request.body)
        model = wanted.model or request.path.rpartition("/")[2].partition(":")[0]
        match reply:
            case Answer() if wanted.stream or request.path.endswith(":streamGenerateContent"):
                self._send_stream([encode_event(event) for event in wire.events(reply, model)], wire)
            case Answer():
                self._send_json(200, wire.whole(reply, model))
            case CutOff():
                events = [encode_event(event) for event in wire.events(Answer(text=reply.text), model)]
                self._send_stream(events[: len(events) // 2], None, abrupt=reply.abrupt)
            case Failure():
                extra = {} if reply.retry_after is None else {"retry-after": str(reply.retry_after)}
                self._send_json(reply.status, wire.error(reply.status, reply.code, reply.message), extra)
            case Garbage():
                self._send(200, "text/html", reply.body.encode(), {})
            case Hang():
                self.server.twin.closing.wait()
                self.close_connection = True

    def _send_json(self, status: int, body: JsonObject, extra: Mapping[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), extra or {})

    def _send(self, status: int, kind: str, body: bytes, extra: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **extra}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _send_stream(self, events: Sequence[bytes], wire: WireFormat | None, *, abrupt: bool = False) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        done = [b"data: [DONE]\n\n"] if wire is not None and wire.ends_with_done else []
        for chunk in [*events, *done]:
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        if not abrupt:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = abrupt
