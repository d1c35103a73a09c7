"""How the server is. Above: the app. Below: the backend."""

import os
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from fabro.client.shapes import Health
from fabro.server.api.body import json_answer
from fabro.server.backend import service_of
from fabro.server.openapi import answers

root = APIRouter(tags=["system"])
api = APIRouter(tags=["system"])
RESPONSES = answers(Health, HTTPStatus.OK)


@root.get("/health", name="health", responses=RESPONSES)
@api.get("/health", name="get_health", responses=RESPONSES)
async def health(request: Request) -> Response:
    """That the server answers, and who it is."""
    service = service_of(request)
    storage = service.backend.storage
    told = Health(
        status="ok",
        version=service.version,
        pid=os.getpid(),
        started_at=service.started_at,
        mode=service.mode,
        unfinished_runs=await service.backend.unfinished_runs(),
        storage=str(storage) if storage is not None else None,
        listening=service.listening,
        idle_minutes=(service.idle_seconds or 0.0) / 60 if service.mode == "background" else None,
    )
    return json_answer(told)
