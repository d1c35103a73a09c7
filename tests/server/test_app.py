"""The API through its app, called directly: what every endpoint answers, and what every refusal looks like."""

import json
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from fabro.ids import sha256_hex
from fabro.server.app import create_app
from fabro.testing.memory_server import service_over
from fabro.testing.memory_system import memory_system
from fabro.testing.scripted_sandbox import ScriptedProvider, ScriptedSandbox, exited
from tests.workflows import COMMAND, DONE, GATE

pytestmark = pytest.mark.anyio

API = "/api/v1"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    sandbox = ScriptedSandbox([exited("é" * 10) for _ in range(3)])
    async with memory_system(sandboxes=ScriptedProvider(sandbox)) as system:
        transport = httpx.ASGITransport(create_app(service_over(system)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            yield client


async def register(http: httpx.AsyncClient, source: str) -> str:
    body = {"entrypoint": "w.fabro", "files": {"w.fabro": source}, "workflow_dependencies": {}}
    answer = await http.post(f"{API}/workflow-versions", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["workflow_version_id"]


async def create(http: httpx.AsyncClient, source: str) -> str:
    body = {"workflow_version_id": await register(http, source), "target": {"kind": "none"}, "args": {}}
    answer = await http.post(f"{API}/runs", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def finish(http: httpx.AsyncClient, source: str) -> str:
    run_id = await create(http, source)
    assert (await http.post(f"{API}/runs/{run_id}/start")).status_code == 200
    await wait(http, run_id, "terminal")
    return run_id


async def wait(http: httpx.AsyncClient, run_id: str, until: str) -> None:
    body = {"run_ids": [run_id], "until": until, "timeout_seconds": 10}
    waited = await http.post(f"{API}/runs/wait", json=body)
    assert waited.json()["timed_out"] is False, waited.text


def assert_refused(answer: httpx.Response, status: int, code: str, *words: str) -> None:
    """The one shape of errors, whatever was asked."""
    body = answer.json()
    assert (answer.status_code, body["errors"][0]["code"]) == (status, code), answer.text
    assert set(body) == {"errors", "request_id"}
    told = body["errors"][0]
    assert set(told) >= {"status", "title", "detail", "code", "request_id"}
    assert (told["status"], told["title"]) == (str(status), answer.reason_phrase)
    assert told["request_id"] == body["request_id"] == answer.headers["x-request-id"]
    assert None not in told.values()
    assert [word for word in words if word not in told["detail"]] == []


async def test_every_answer_has_the_same_headers(http: httpx.AsyncClient) -> None:
    answers = [
        await http.get("/health"),
        await http.get("/nothing"),
        await http.get(f"{API}/runs/{UNKNOWN}"),
        await http.post(f"{API}/runs", content=b"{", headers={"content-type": "application/json"}),
        await http.options(f"{API}/runs", headers={"origin": "http://evil.test"}),
    ]
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-fabro-version"]
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


@pytest.mark.parametrize("path", ["/health", f"{API}/health"])
async def test_health(http: httpx.AsyncClient, path: str) -> None:
    told = (await http.get(path)).json()
    assert set(told) == {
        *("status", "version", "pid", "started_at", "mode", "unfinished_runs", "storage", "listening"),
        "idle_minutes",
    }
    assert (told["status"], told["unfinished_runs"], told["storage"]) == ("ok", 0, None)


async def test_versions(http: httpx.AsyncClient) -> None:
    version_id = await register(http, DONE)
    canonical = json.dumps(
        {"entrypoint": "w.fabro", "files": {"w.fabro": DONE}, "workflow_dependencies": {}}, separators=(",", ":")
    )
    assert version_id == sha256_hex(canonical.encode())
    stored = (await http.get(f"{API}/workflow-versions/{version_id.upper()}")).json()
    assert stored == {"workflow_version_id": version_id, **json.loads(canonical)}
    assert_refused(await http.get(f"{API}/workflow-versions/{'0' * 64}"), 404, "workflow_version_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("", 400, "invalid_json"),
        ("{", 400, "invalid_json"),
        ("[" * 100_000, 400, "invalid_json"),
        ('{"entrypoint":"w","files":{"w":"x","w":"y"},"workflow_dependencies":{}}', 400, "invalid_json"),
        ('{"entrypoint":"w","files":{"w":"x"}}', 422, "workflow_version_invalid"),
        ('{"entrypoint":"w","files":{"w":"x"},"workflow_dependencies":{},"a":1}', 422, "workflow_version_invalid"),
        ('{"entrypoint":"w","files":{"w":1},"workflow_dependencies":{}}', 422, "workflow_version_invalid"),
        ('{"entrypoint":"w","files":{"w":"\\ud800"},"workflow_dependencies":{}}', 422, "workflow_version_invalid"),
        (
            '{"entrypoint":"w","files":{"w":"digraph {"},"workflow_dependencies":{}}',
            422,
            "workflow_version_invalid",
        ),
        (f'{{"a":"{"x" * (3 << 20)}"}}', 413, "workflow_version_too_large"),
    ],
)
async def test_versions_are_read_strictly(http: httpx.AsyncClient, body: str, status: int, code: str) -> None:
    answer = await http.post(f"{API}/workflow-versions", content=body, headers={"content-type": "application/json"})
    assert_refused(answer, status, code)


INTENT = {"workflow_version_id": "0" * 64, "target": {"kind": "none"}, "args": {}}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({**INTENT, "extra": 1}, "'extra' is unknown"),
        ({name: value for name, value in INTENT.items() if name != "args"}, "'args' is missing"),
        ({name: value for name, value in INTENT.items() if name != "target"}, "'target' is missing"),
        ({**INTENT, "workflow_version_id": 7}, "workflow_version_id"),
        ({**INTENT, "target": {"kind": "git"}}, "target"),
        ({**INTENT, "target": {"kind": "none", "path": "/"}}, "target.none.path"),
        ({**INTENT, "target": {"kind": "folder"}}, "target.folder.path"),
        ({**INTENT, "args": {"dry_run": "yes"}}, "args.dry_run"),
        ({**INTENT, "args": {"inputs": {"a": None}}}, "args.inputs.a"),
        ({**INTENT, "args": {"inputs": {"a": [1]}}}, "args.inputs.a"),
        ({**INTENT, "args": {"labels": {"a": 1}}}, "args.labels.a"),
        ({**INTENT, "args": {"unknown": True}}, "args.unknown"),
        ({**INTENT, "title": 5}, "title"),
        ([], "the body"),
        ('{"workflow_version_id":"0","args":{},"args":{},"target":{"kind":"none"}}', "'args' is there twice"),
        (
            '{"workflow_version_id":"0","args":{"inputs":{"a":1,"a":2}},"target":{"kind":"none"}}',
            "'a' is there twice",
        ),
    ],
)
async def test_intents_are_read_strictly(http: httpx.AsyncClient, body: object, named: str) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    answer = await http.post(f"{API}/runs", content=content, headers={"content-type": "application/json"})
    assert_refused(answer, 422, "run_intent_invalid", named)
    assert (await http.get(f"{API}/runs")).json()["data"] == []


@pytest.mark.parametrize("body", [b"", b"nope", b"\xff\xfe{}", b'{"a":NaN}', b'{"a":"\\ud800"}', b"1" * 5000])
async def test_what_is_no_json_is_refused(http: httpx.AsyncClient, body: bytes) -> None:
    for path in ("/runs", "/runs/wait", f"/runs/{UNKNOWN}/questions/q@1/answer"):
        answer = await http.post(API + path, content=body, headers={"content-type": "application/json"})
        assert_refused(answer, 400, "invalid_json")


async def test_bodies_are_bounded(http: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536

    json_type = {"content-type": "application/json"}
    for content in (b" " * (2 << 20), endless()):
        answer = await http.post(f"{API}/runs", content=content, headers=json_type)
        assert_refused(answer, 413, "too_large", str(1 << 20))
    answer = await http.post(f"{API}/workflow-versions", content=endless(), headers=json_type)
    assert_refused(answer, 413, "workflow_version_too_large")


async def test_writes_are_json(http: httpx.AsyncClient) -> None:
    run_id = await create(http, DONE)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = await http.post(f"{API}/runs", content=b"{}", headers={"content-type": kind})
        assert_refused(answer, 415, "unsupported_media_type")
    answer = await http.post(f"{API}/runs/{run_id}/start", headers={"content-type": "text/plain"})
    assert_refused(answer, 415, "unsupported_media_type")
    loose = {"content-type": "Application/JSON ; charset=utf-8"}
    assert (await http.post(f"{API}/runs/{run_id}/start", content=b"{}", headers=loose)).status_code == 200


async def test_a_run_from_creation_to_its_end(http: httpx.AsyncClient) -> None:
    run_id = await create(http, COMMAND)
    assert (await http.get(f"{API}/runs/{run_id}")).json()["lifecycle"]["status"] == {
        "kind": "submitted",
        "reason": None,
    }
    assert (await http.post(f"{API}/runs/{run_id}/start")).status_code == 200
    await wait(http, run_id, "terminal")
    state = (await http.get(f"{API}/runs/{run_id}/state")).json()
    assert [stage["stage_id"] for stage in state["stages"]] == ["start@1", "build@1"]
    assert (await http.get(f"{API}/runs/resolve", params={"selector": run_id[:20]})).json() == {"run_id": run_id}
    assert_refused(await http.post(f"{API}/runs/{run_id}/start"), 409, "run_not_startable")
    assert_refused(await http.post(f"{API}/runs/{run_id}/cancel"), 409, "run_terminal")


async def test_times_are_rfc_3339_in_utc(http: httpx.AsyncClient) -> None:
    run = (await http.get(f"{API}/runs/{await finish(http, DONE)}")).json()
    times = [*run["timestamps"].values(), (await http.get("/health")).json()["started_at"]]
    assert [time for time in times if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", time)] == []


async def test_cancelling_tells_whether_it_is_done(http: httpx.AsyncClient) -> None:
    submitted, blocked = await create(http, DONE), await create(http, GATE)
    assert (await http.post(f"{API}/runs/{submitted}/cancel")).status_code == 200
    await http.post(f"{API}/runs/{blocked}/start")
    await wait(http, blocked, "blocked")
    assert (await http.post(f"{API}/runs/{blocked}/cancel")).status_code == 202
    await wait(http, blocked, "terminal")


async def test_runs_are_filtered_and_paged(http: httpx.AsyncClient) -> None:
    runs = [await create(http, DONE) for _ in range(3)]
    await http.post(f"{API}/runs/{runs[0]}/cancel")
    page = (await http.get(f"{API}/runs", params={"limit": 2})).json()
    assert [run["id"] for run in page["data"]] == runs[:0:-1]
    assert page["meta"] == {"has_more": True, "next_cursor": runs[1]}
    rest = (await http.get(f"{API}/runs", params={"limit": 2, "cursor": runs[1]})).json()
    assert ([run["id"] for run in rest["data"]], rest["meta"]["has_more"]) == ([runs[0]], False)
    both = (await http.get(f"{API}/runs", params={"status": ["failed", "succeeded"]})).json()
    assert [run["id"] for run in both["data"]] == [runs[0]]
    assert (await http.get(f"{API}/runs", params={"parent_id": runs[0]})).json()["data"] == []


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/runs?limit=0", 422, "invalid_request"),
        ("/runs?limit=101", 422, "invalid_request"),
        ("/runs?limit=x", 400, "invalid_query"),
        ("/runs?status=odd", 400, "invalid_query"),
        ("/runs?cursor=odd", 422, "cursor_invalid"),
        ("/runs/resolve", 400, "invalid_query"),
        ("/runs/resolve?selector=%20", 422, "run_selector_empty"),
        ("/runs/resolve?selector=zzz", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/state", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/events", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/attach", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/questions", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/stages/a@1/output", 404, "run_not_found"),
        (f"/runs/{UNKNOWN}/nothing", 404, "endpoint_not_found"),
        ("/workflow-versions/x", 422, "run_intent_invalid"),
        ("/runs/../../health", 404, "endpoint_not_found"),
    ],
)
async def test_reads_that_are_refused(http: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    assert_refused(await http.get(API + path), status, code)


async def test_methods_that_are_not_there(http: httpx.AsyncClient) -> None:
    answer = await http.delete(f"{API}/runs")
    assert_refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"]


async def test_questions_over_http(http: httpx.AsyncClient) -> None:
    run_id = await create(http, GATE)
    await http.post(f"{API}/runs/{run_id}/start")
    await wait(http, run_id, "blocked")
    place = f"{API}/runs/{run_id}/questions"
    (question,) = (await http.get(place)).json()["data"]
    assert (question["id"], question["stage"], question["question_type"]) == ("gate@1", "gate@1", "multiple_choice")
    for wrong in (
        {"kind": "odd"},
        {},
        {"kind": "selected"},
        {"kind": "yes", "option_key": "Y"},
        {"kind": "selected", "option_key": "Q"},
    ):
        assert_refused(await http.post(f"{place}/gate@1/answer", json=wrong), 422, "answer_invalid")
    done = await http.post(f"{place}/gate@1/answer", json={"kind": "selected", "option_key": "Y", "actor": "Ada"})
    assert (done.status_code, done.content) == (204, b"")
    again = await http.post(f"{place}/gate@1/answer", json={"kind": "selected", "option_key": "N"})
    assert_refused(again, 409, "question_closed")


async def test_events_have_aliases_that_exclude_each_other(http: httpx.AsyncClient) -> None:
    place = f"{API}/runs/{await finish(http, DONE)}/events"

    async def seqs(query: str) -> list[int]:
        return [event["seq"] for event in (await http.get(f"{place}?{query}")).json()["data"]]

    assert await seqs("since_seq=2&limit=2") == await seqs("after=1&limit=2") == [2, 3]
    assert await seqs("order=desc&before_seq=3") == await seqs("order=desc&after=3") == [2, 1]
    assert (await http.get(f"{place}?limit=1")).json()["meta"] == {"has_more": True}
    for wrong in (
        *("after=1&since_seq=2", "since_seq=1&order=desc", "before_seq=1", "since_seq=0", "after=-1", "order=odd"),
        *("limit=x", "unknown=1"),
    ):
        assert_refused(await http.get(f"{place}?{wrong}"), 400, "invalid_query")
    assert_refused(await http.get(f"{place}?limit=1001"), 422, "invalid_request")


async def test_the_output_of_a_command_is_read_in_pieces(http: httpx.AsyncClient) -> None:
    place = f"{API}/runs/{await finish(http, COMMAND)}/stages"
    whole = await http.get(f"{place}/build@1/output")
    assert (whole.text, whole.headers["content-type"]) == ("é" * 10, "text/plain; charset=utf-8")
    assert whole.headers["x-output-bytes"] == "20"
    assert (await http.get(f"{place}/build@1/output?offset=2&limit=4")).text == "éé"
    assert (await http.get(f"{place}/build@1/output?offset=99")).text == ""
    assert_refused(await http.get(f"{place}/build@1/output?limit=0"), 400, "invalid_query")
    assert_refused(await http.get(f"{place}/start@1/output"), 404, "output_not_found")
    assert_refused(await http.get(f"{place}/odd%2Fname@1/output"), 404, "stage_not_found", "odd/name@1")


@pytest.mark.parametrize(
    "body",
    [
        {"run_ids": []},
        {"run_ids": [UNKNOWN] * 101},
        {"run_ids": [UNKNOWN], "timeout_seconds": 601},
        {"run_ids": [UNKNOWN], "timeout_seconds": -1},
        {"run_ids": [UNKNOWN], "timeout_seconds": 1, "until": "odd"},
        {"run_ids": [UNKNOWN], "timeout_seconds": 1, "odd": True},
        {"run_ids": UNKNOWN, "timeout_seconds": 1},
    ],
)
async def test_waits_are_bounded(http: httpx.AsyncClient, body: dict[str, object]) -> None:
    assert_refused(await http.post(f"{API}/runs/wait", json=body), 422, "invalid_request")


async def test_waiting_for_an_unknown_run(http: httpx.AsyncClient) -> None:
    body = {"run_ids": [UNKNOWN], "timeout_seconds": 1}
    assert_refused(await http.post(f"{API}/runs/wait", json=body), 404, "run_not_found")


async def test_the_client_names_itself(http: httpx.AsyncClient) -> None:
    body = {**INTENT, "workflow_version_id": await register(http, DONE)}
    for said, kept in (("tool 1.0", "tool 1.0"), ("x" * 200, "x" * 100), (" ", None)):
        answer = await http.post(f"{API}/runs", json=body, headers={"x-fabro-client": said})
        assert answer.json()["client"] == kept
