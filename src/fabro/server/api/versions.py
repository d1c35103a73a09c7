"""Workflow versions. Above: the app. Below: operations. Source: reference/mcp-server.md §2."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from fabro.client.shapes import StoredVersion, VersionCreated
from fabro.server.api.body import json_answer
from fabro.server.backend import operations_of
from fabro.server.openapi import answers, takes
from fabro.workflow.version import parse_version

router = APIRouter(prefix="/workflow-versions", tags=["workflow versions"])


@router.post(
    "",
    name="create_workflow_version",
    status_code=201,
    responses=answers(VersionCreated, HTTPStatus.CREATED, 400, 413, 415, 422),
    openapi_extra=takes("VersionBody"),
)
async def create(request: Request) -> Response:
    """Store a workflow version; equal contents give the same id."""
    version = parse_version(await request.body())
    version_id = await operations_of(request).versions.create(version)
    return json_answer(VersionCreated(workflow_version_id=version_id), HTTPStatus.CREATED)


@router.get("/{version_id}", name="get_workflow_version", responses=answers(StoredVersion, HTTPStatus.OK, 404, 422))
async def get(request: Request, version_id: str) -> Response:
    """A stored workflow version."""
    version = await operations_of(request).versions.get(version_id)
    stored = StoredVersion(
        workflow_version_id=version.id,
        entrypoint=version.entrypoint,
        files=version.files,
        workflow_dependencies=version.workflow_dependencies,
    )
    return json_answer(stored)
