"""The HTTP door as one ASGI app. Above: assembly, the process. Below: the routers of `api`, the edge.

Source of paths and shapes: reference/server.md §1.
"""

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp

from fabro.errors import FabroError, InvalidInput, NotFound
from fabro.server.api import events, questions, runs, system, versions
from fabro.server.backend import Service
from fabro.server.edge import Edge, answer
from fabro.server.errors import unexpected
from fabro.server.openapi import document

API = "/api/v1"


def create_app(service: Service) -> ASGIApp:
    """The app of a service."""
    app = FastAPI(
        title="Fabro",
        version=service.version,
        summary="Durable workflows of agents, commands and people.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.include_router(system.root)
    for router in (system.api, versions.router, runs.router, events.router, questions.router):
        app.include_router(router, prefix=API)
    app.add_exception_handler(FabroError, _told)
    app.add_exception_handler(HTTPException, _no_such_route)
    app.add_exception_handler(RequestValidationError, _bad_parameter)
    app.add_exception_handler(ClientDisconnect, _cut_off)
    app.add_exception_handler(Exception, _unexpected)
    document(app)
    return Edge(app, service)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, FabroError)
    return answer(error, request.state.request_id)


async def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        refused: FabroError = InvalidInput(
            f"{request.method} is not possible on {request.url.path}", code="method_not_allowed"
        )
    else:
        refused = NotFound(f"there is no {request.url.path}", code="endpoint_not_found")
    response = answer(refused, request.state.request_id)
    response.headers.update(error.headers or {})
    return response


async def _bad_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:])
    return answer(InvalidInput(f"{name}: {first['msg']}", code="invalid_query"), request.state.request_id)


async def _cut_off(request: Request, error: Exception) -> Response:
    del error  # the client has gone in the middle of its body: this is for the log
    return answer(InvalidInput("the body was cut off", code="invalid_json"), request.state.request_id)


async def _unexpected(request: Request, error: Exception) -> Response:
    del error  # the edge logs it
    return answer(unexpected(), request.state.request_id)
