"""Requests and errors over a transport that answers what a test wants."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from fabro.client.http import VERSION_HEADER, Http, open_http
from fabro.client.shapes import Resolved
from fabro.client.target import UNIX_URL, ServerTarget
from fabro.config.paths import Paths
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

pytestmark = pytest.mark.anyio

REMOTE = ServerTarget(url="http://fabro.example.test/base")
LOCAL = ServerTarget(
    url=UNIX_URL, socket=Path("/none/s"), local=Paths(storage=Path("/none/storage"), socket=Path("/none/s"))
)
Answering = Callable[[httpx.Request], httpx.Response]


def told(status: int, code: str, **more: object) -> Answering:
    error = {"status": str(status), "title": "T", "detail": "a detail", "code": code, "request_id": "r-1", **more}
    body = {"errors": [error], "request_id": "r-1"}
    return lambda _: httpx.Response(status, json=body, headers={VERSION_HEADER: "1.0"})


async def ask(answering: Answering, target: ServerTarget = REMOTE) -> bytes:
    async with open_http(target, client_name="test", transport=httpx.MockTransport(answering)) as http:
        return (await http.ask("GET", "/runs")).content


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_json", InvalidInput),
        (401, "unauthorized", Unauthorized),
        (403, "host_not_allowed", Forbidden),
        (404, "run_not_found", NotFound),
        (405, "method_not_allowed", InvalidInput),
        (409, "run_terminal", Conflict),
        (413, "too_large", TooLarge),
        (415, "unsupported_media_type", InvalidInput),
        (422, "run_intent_invalid", InvalidInput),
        (500, "internal_error", FabroError),
        (500, "run_unreadable", StorageError),
        (503, "server_stopping", Unavailable),
        (507, "disk_full", StorageError),
    ],
)
async def test_an_error_is_what_it_was_on_the_server(status: int, code: str, kind: type[FabroError]) -> None:
    with pytest.raises(FabroError) as caught:
        await ask(told(status, code, hint="Do this.", details={"a": [1]}))
    error = caught.value
    assert (type(error), error.code, error.hint, error.details) == (kind, code, "Do this.", {"a": [1]})
    assert "a detail" in error.message
    assert ("r-1" in error.message) == (code == "internal_error")


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"run_id": "x"}),
        httpx.Response(404, text="nginx"),
        httpx.Response(502, text="bad gateway", headers={VERSION_HEADER: "1"}),
        httpx.Response(500, json={"errors": []}, headers={VERSION_HEADER: "1"}),
        httpx.Response(500, json=[1], headers={VERSION_HEADER: "1"}),
        httpx.Response(302, headers={"location": "http://evil.test"}),
        httpx.Response(200, json={"status": "ok"}),
    ],
)
async def test_another_program_is_told_from_a_server(response: httpx.Response) -> None:
    with pytest.raises(Unavailable) as caught:
        await ask(lambda _: response)
    assert (caught.value.code, caught.value.hint is not None) == ("not_fabro", True)


async def test_unknown_fields_are_ignored_and_a_foreign_shape_names_both_versions() -> None:
    """Reference S-18."""

    async def resolve(body: object) -> Resolved:
        answering = httpx.MockTransport(lambda _: httpx.Response(200, json=body, headers={VERSION_HEADER: "9.9"}))
        async with open_http(REMOTE, client_name="test", transport=answering) as http:
            return (await http.ask("GET", "/runs/resolve")).read(Resolved)

    assert (await resolve({"run_id": "r", "new": {"deep": [1]}})).run_id == "r"
    with pytest.raises(Unavailable) as caught:
        await resolve({"run_id": ["r"]})
    assert (caught.value.code, "9.9" in caught.value.message) == ("version_mismatch", True)
    assert "restart" in (caught.value.hint or "")


async def test_requests_say_who_asks() -> None:
    seen: list[httpx.Request] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={}, headers={VERSION_HEADER: "1"})

    async with open_http(REMOTE, client_name="tool 2", transport=httpx.MockTransport(answering)) as http:
        await http.ask("POST", "/runs", body={"title": "é\u2028"}, params={"status": ["a", "b"]})
    (request,) = seen
    assert str(request.url) == "http://fabro.example.test/base/api/v1/runs?status=a&status=b"
    assert (request.headers["x-fabro-client"], request.headers["content-type"]) == ("tool 2", "application/json")
    assert json.loads(request.content) == {"title": "é\u2028"}


def failing(error: httpx.TransportError) -> Answering:
    def answering(request: httpx.Request) -> httpx.Response:
        raise error

    return answering


@pytest.mark.parametrize(
    ("error", "target", "hint"),
    [
        (httpx.ConnectError("refused"), REMOTE, "Check its address"),
        (httpx.ConnectError("refused"), LOCAL, "fabro server start"),
        (httpx.ConnectTimeout("late"), LOCAL, "fabro server start"),
        (httpx.ReadTimeout("late"), LOCAL, ""),
        (httpx.RemoteProtocolError("cut"), REMOTE, "Check its address"),
    ],
)
async def test_a_server_that_is_not_there(error: httpx.TransportError, target: ServerTarget, hint: str) -> None:
    with pytest.raises(Unavailable) as caught:
        await ask(failing(error), target)
    assert caught.value.code == "server_unreachable"
    assert str(target) in caught.value.message
    assert hint in (caught.value.hint or "")


async def test_a_local_server_is_started_once_and_asked_again() -> None:
    running, started = list[bool](), list[bool]()

    def answering(request: httpx.Request) -> httpx.Response:
        if not running:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json={}, headers={VERSION_HEADER: "1"})

    async def revive() -> None:
        started.append(True)
        running.append(True)

    async def use(http: Http) -> None:
        await http.ask("POST", "/runs", body={})
        running.clear()
        with pytest.raises(Unavailable):
            await http.ask("POST", "/runs/wait", body={}, revive=False)

    transport = httpx.MockTransport(answering)
    async with open_http(LOCAL, client_name="test", revive=revive, transport=transport) as http:
        await use(http)
    assert started == [True]
