"""The API's description of itself is complete and refers to nothing that is not there."""

from collections.abc import AsyncIterator, Iterator
from typing import cast

import httpx
import jsonschema
import pytest

from fabro.server.app import create_app
from fabro.testing.memory_server import service_over
from fabro.testing.memory_system import memory_system
from tests.workflows import COMMAND, version

pytestmark = pytest.mark.anyio

Json = dict[str, object]
PATHS = {
    "/health",
    "/api/v1/health",
    "/api/v1/workflow-versions",
    "/api/v1/workflow-versions/{version_id}",
    "/api/v1/runs",
    "/api/v1/runs/resolve",
    "/api/v1/runs/wait",
    "/api/v1/runs/{run_id}",
    "/api/v1/runs/{run_id}/state",
    "/api/v1/runs/{run_id}/start",
    "/api/v1/runs/{run_id}/cancel",
    "/api/v1/runs/{run_id}/events",
    "/api/v1/runs/{run_id}/attach",
    "/api/v1/runs/{run_id}/questions",
    "/api/v1/runs/{run_id}/questions/{question_id}/answer",
    "/api/v1/runs/{run_id}/stages/{stage_id}/output",
}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with memory_system() as system:
        transport = httpx.ASGITransport(create_app(service_over(system)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:1") as client:
            yield client


@pytest.fixture
async def document(http: httpx.AsyncClient) -> Json:
    return (await http.get("/api/v1/openapi.json")).json()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in cast("dict[str, dict[str, Json]]", document["paths"]).items():
        for method, operation in item.items():
            yield path, method, operation


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in cast("Json", value).items():
            if name == "$ref":
                yield str(item)
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from references(item)


async def test_every_endpoint_is_described(document: Json) -> None:
    assert {path.replace(":path", "") for path, _, _ in operations(document)} == PATHS
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    for path, _, operation in operations(document):
        assert operation["summary"], path
        assert operation["description"], path
        assert operation["tags"], path
        answers = cast("dict[str, Json]", operation["responses"])
        assert "default" in answers, path
        assert [status for status in answers if status.startswith("2")] != [], path
        if "{run_id}" in path or "{version_id}" in path:
            assert "404" in answers, path


async def test_writes_describe_their_bodies(document: Json) -> None:
    without = {
        path
        for path, method, operation in operations(document)
        if method == "post" and not operation.get("requestBody")
    }
    assert without == {"/api/v1/runs/{run_id}/start", "/api/v1/runs/{run_id}/cancel"}


async def test_every_reference_leads_somewhere(document: Json) -> None:
    schemas = cast("dict[str, dict[str, Json]]", document["components"])["schemas"]
    wanted = set(references(document))
    assert wanted >= {"#/components/schemas/ErrorBody", "#/components/schemas/RunView"}
    assert [one for one in wanted if one.removeprefix("#/components/schemas/") not in schemas] == []


async def test_answers_are_as_described(http: httpx.AsyncClient, document: Json) -> None:
    def check(answer: httpx.Response, schema: str) -> Json:
        resolved = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
        jsonschema.validate(answer.json(), resolved)
        return answer.json()

    api = "/api/v1"
    content = version(COMMAND).canonical_bytes
    json_type = {"content-type": "application/json"}
    stored = check(
        await http.post(f"{api}/workflow-versions", content=content, headers=json_type), "VersionCreated"
    )
    body = {**stored, "target": {"kind": "none"}, "args": {}}
    run_id = check(await http.post(f"{api}/runs", json=body), "RunView")["id"]
    check(await http.post(f"{api}/runs/{run_id}/start"), "RunView")
    check(await http.post(f"{api}/runs/wait", json={"run_ids": [run_id], "timeout_seconds": 10}), "Waited")
    check(await http.get(f"{api}/runs/{run_id}/state"), "RunStateView")
    check(await http.get(f"{api}/runs/{run_id}/events"), "EventList")
    check(await http.get(f"{api}/runs/{run_id}/questions"), "QuestionList")
    check(await http.get(f"{api}/runs"), "RunList")
    check(await http.get(f"{api}/runs/resolve?selector={run_id}"), "Resolved")
    check(await http.get(f"{api}/workflow-versions/{stored['workflow_version_id']}"), "StoredVersion")
    check(await http.get("/health"), "Health")
    check(await http.get("/nothing"), "ErrorBody")
