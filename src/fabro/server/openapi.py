"""How the API describes itself: every answer by the dataclass that it is. Above: the app, the routers. Below: the
client's decoding.

Handlers read and write JSON themselves, so FastAPI is told of bodies and answers only for the document.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from fabro.calls import RunStateView, Waited
from fabro.client.decode import adapter
from fabro.client.shapes import (
    ErrorBody,
    EventList,
    Health,
    QuestionList,
    Resolved,
    RunList,
    StoredVersion,
    VersionBody,
    VersionCreated,
)
from fabro.projections.envelope import EventEnvelope
from fabro.projections.run_view import RunView
from fabro.server.api.intents import ANSWER, RUN_INTENT, WAIT

REFERENCE = "#/components/schemas/{model}"
FACTS = (
    ErrorBody,
    EventEnvelope,
    EventList,
    Health,
    QuestionList,
    Resolved,
    RunList,
    RunStateView,
    RunView,
    StoredVersion,
    VersionBody,
    VersionCreated,
    Waited,
)
BODIES: Mapping[str, TypeAdapter[Any]] = {"RunIntentBody": RUN_INTENT, "WaitBody": WAIT, "AnyAnswerBody": ANSWER}

Responses = dict[int | str, dict[str, object]]


def answers(kind: type[object] | None, status: HTTPStatus, *errors: int) -> Responses:
    """What a route answers: a fact with this status, or nothing but the status; these errors, or any other."""
    told: Responses = {error: _json(HTTPStatus(error).phrase, "ErrorBody") for error in errors}
    told["default"] = _json("Any other error", "ErrorBody")
    success: dict[str, object] = {"description": status.phrase}
    if kind is not None:
        success = _json(status.phrase, kind.__name__)
    return {status.value: success, **told}


def text_answers(media_type: str, *errors: int) -> Responses:
    """What a route answers that gives text of some kind."""
    content: dict[str, object] = {media_type: {"schema": {"type": "string"}}}
    return {**answers(None, HTTPStatus.OK, *errors), 200: {"description": "OK", "content": content}}


def takes(name: str) -> dict[str, object]:
    """What a route takes: a JSON body of this schema."""
    return {"requestBody": {"required": True, **_json("", name)}}


def document(app: FastAPI) -> None:
    """Make the app describe itself, once, with every schema that `answers` and `takes` refer to."""

    def openapi() -> dict[str, object]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            made.setdefault("components", {})["schemas"] = schemas()
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi


def schemas() -> dict[str, object]:
    """All schemas by name."""
    named, shared = TypeAdapter.json_schemas(_sources(), ref_template=REFERENCE)
    own = {name: schema for (name, _), schema in named.items() if schema != {"$ref": REFERENCE.format(model=name)}}
    return {**shared["$defs"], **own}


def _sources() -> Iterator[tuple[str, Literal["validation", "serialization"], TypeAdapter[Any]]]:
    for kind in FACTS:
        yield kind.__name__, "serialization", adapter(kind)
    for name, body in BODIES.items():
        yield name, "validation", body


def _json(description: str, name: str) -> dict[str, object]:
    schema = {"$ref": REFERENCE.format(model=name)}
    told: dict[str, object] = {"content": {"application/json": {"schema": schema}}}
    return {"description": description, **told} if description else told
