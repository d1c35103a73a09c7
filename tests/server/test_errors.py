"""From errors to statuses, and what is never shown."""

from collections.abc import AsyncIterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from fabro.assembly import System
from fabro.clock import Clock
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
from fabro.operations.calls import Operations
from fabro.run.status import IllegalTransition
from fabro.server.app import create_app
from fabro.server.errors import body_of, status_of
from fabro.store.blobs import Blobs
from fabro.testing.memory_server import service_over
from fabro.testing.memory_system import memory_system

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("m"), 422),
        (InvalidInput("m", code="invalid_json"), 400),
        (TooLarge("m"), 413),
        (Unauthorized("m"), 401),
        (Forbidden("m"), 403),
        (NotFound("m"), 404),
        (Conflict("m"), 409),
        (IllegalTransition("m"), 409),
        (Unavailable("m"), 503),
        (StorageError("m"), 500),
        (StorageError("m", code="disk_full"), 507),
        (FabroError("m"), 500),
    ],
)
async def test_each_kind_of_error_has_its_status(error: FabroError, status: int) -> None:
    assert status_of(error) == status
    assert body_of(error, "r").errors[0].status == str(status)


@dataclass
class Broken:
    """A backend with a defect."""

    system: System

    @property
    def storage(self) -> Path | None:
        return None

    @property
    def clock(self) -> Clock:
        return self.system.clock

    @property
    def blobs(self) -> Blobs:
        return self.system.blobs

    def operations(self, client: str | None) -> Operations:
        return self.system.operations(client)

    async def unfinished_runs(self) -> int:
        raise LookupError("a secret of ours")


@pytest.fixture
async def system() -> AsyncIterator[System]:
    async with memory_system() as system:
        yield system


def client(backend: System | Broken) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(service_over(backend)))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:1")


async def test_what_was_not_meant_for_callers_is_logged_and_not_shown(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    async with client(Broken(system)) as http:
        answer = await http.get("/health")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (500, "internal_error")
    assert "secret" not in answer.text
    logged = "".join(capsys.readouterr())
    assert "a secret of ours" in logged
    assert answer.headers["x-request-id"] in logged


async def test_a_storage_that_fails_is_said_to(system: System) -> None:
    await system.parts.store.close()
    async with client(system) as http:
        answer = await http.get("/api/v1/runs")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (500, "storage_closed")


async def test_a_client_that_goes_away_in_its_body_is_no_fault_of_ours(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: MutableMapping[str, object] = {"type": "http.request", "body": b"{", "more_body": True}
    gone: MutableMapping[str, object] = {"type": "http.disconnect"}
    messages = iter([begun, gone])
    sent: list[MutableMapping[str, object]] = []

    async def receive() -> MutableMapping[str, object]:
        return next(messages)

    async def send(message: MutableMapping[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/runs",
        "raw_path": b"/api/v1/runs",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"fabro"), (b"content-type", b"application/json"), (b"content-length", b"100")],
        "server": ("/tmp/fabro.sock", None),
        "client": None,
    }
    await create_app(service_over(system))(scope, receive, send)
    assert sent[0]["status"] == 400
    assert "error" not in capsys.readouterr().out
