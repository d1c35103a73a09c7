"""Runs as wholes. Above: the app. Below: operations. Source: reference/server.md §1.3, mcp-server.md §3."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from fabro.calls import RunListQuery, RunStateView, Waited
from fabro.client.shapes import PageMeta, Resolved, RunList
from fabro.ids import RunId
from fabro.projections.run_view import RunView
from fabro.run.status import StatusKind
from fabro.server.api.body import json_answer, read_body
from fabro.server.api.intents import RUN_INTENT, WAIT
from fabro.server.backend import operations_of, service_of, while_wanted
from fabro.server.openapi import answers, takes

OK, CREATED, ACCEPTED = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED

router = APIRouter(prefix="/runs", tags=["runs"])


@router.post(
    "",
    name="create_run",
    status_code=201,
    responses=answers(RunView, CREATED, 400, 404, 413, 415, 422),
    openapi_extra=takes("RunIntentBody"),
)
async def create(request: Request) -> Response:
    """Create a run, which waits to be started."""
    body = await read_body(request, RUN_INTENT, code="run_intent_invalid")
    return json_answer(await operations_of(request).runs.create(body.intent()), CREATED)


@router.get("", name="list_runs", responses=answers(RunList, OK, 400, 422))
async def list_runs(
    request: Request,
    status: Annotated[list[StatusKind], Query(description="Only these; may be repeated.")] = [],  # noqa: B006
    parent_id: str | None = None,
    limit: Annotated[int, Query(description="1 to 100.")] = 20,
    cursor: Annotated[str | None, Query(description="The `next_cursor` of the page before.")] = None,
) -> Response:
    """Runs, newest first."""
    query = RunListQuery(
        statuses=frozenset(status),
        parent_id=RunId(parent_id) if parent_id is not None else None,
        limit=limit,
        cursor=cursor,
    )
    page = await operations_of(request).runs.list(query)
    meta = PageMeta(has_more=page.next_cursor is not None, next_cursor=page.next_cursor)
    return json_answer(RunList(data=page.data, meta=meta))


@router.get("/resolve", name="resolve_run", responses=answers(Resolved, OK, 400, 404, 422))
async def resolve(
    request: Request,
    selector: Annotated[str, Query(description="The beginning of a run's id, or a workflow's name.")],
) -> Response:
    """The run that a selector means: by its id, else the newest of a workflow."""
    return json_answer(Resolved(run_id=await operations_of(request).runs.resolve(selector)))


@router.post(
    "/wait",
    name="wait_for_runs",
    responses=answers(Waited, OK, 400, 404, 413, 415, 422),
    openapi_extra=takes("WaitBody"),
)
async def wait(request: Request) -> Response:
    """Wait until every run is there, or the time is up; the runs as they then stand."""
    body = await read_body(request, WAIT)
    runs, run_ids = operations_of(request).runs, [RunId(run_id) for run_id in body.run_ids]

    async def waiting() -> Waited:
        return await runs.wait(run_ids, until=body.until, timeout_seconds=body.timeout_seconds)

    waited = await while_wanted(service_of(request), request.receive, waiting)
    return json_answer(waited) if waited is not None else Response()


@router.get("/{run_id}", name="get_run", responses=answers(RunView, OK, 404))
async def get(request: Request, run_id: str) -> Response:
    """A run."""
    return json_answer(await operations_of(request).runs.get(RunId(run_id)))


@router.get("/{run_id}/state", name="get_run_state", responses=answers(RunStateView, OK, 404))
async def state(request: Request, run_id: str) -> Response:
    """A run in full: every stage with what went in and came out."""
    return json_answer(await operations_of(request).runs.state(RunId(run_id)))


@router.post("/{run_id}/start", name="start_run", responses=answers(RunView, OK, 404, 409))
async def start(request: Request, run_id: str) -> Response:
    """Ask for a submitted run to execute."""
    return json_answer(await operations_of(request).runs.start(RunId(run_id)))


@router.post(
    "/{run_id}/cancel", name="cancel_run", responses=answers(RunView, OK, 404, 409) | answers(RunView, ACCEPTED)
)
async def cancel(request: Request, run_id: str) -> Response:
    """Ask for a run to end: 200 when it has ended at once, 202 when what executes is being stopped."""
    run = await operations_of(request).runs.cancel(RunId(run_id))
    return json_answer(run, OK if run.lifecycle.status.kind.is_terminal else ACCEPTED)
