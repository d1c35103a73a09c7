"""What happened in runs: pages, streams, outputs. Above: the app. Below: operations, blobs, the event stream."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from fabro.calls import EventQuery
from fabro.client.shapes import EventList, EventMeta
from fabro.errors import InvalidInput
from fabro.ids import RunId
from fabro.server.api.body import json_answer
from fabro.server.api.output import stage_output
from fabro.server.backend import operations_of, service_of
from fabro.server.openapi import answers, text_answers
from fabro.server.sse import EventStream

LARGEST_SEQ = 1 << 53

router = APIRouter(prefix="/runs/{run_id}", tags=["events"])


class Stretch(BaseModel, extra="forbid"):
    """The part of a log that is asked for; at most one of the first three may be given."""

    after: int | None = Field(default=None, ge=0, description="Events behind this one; with `desc` before it.")
    since_seq: int | None = Field(default=None, ge=1, description="With `asc`: this event and those behind it.")
    before_seq: int | None = Field(default=None, ge=1, description="With `desc`: events before this one.")
    order: Literal["asc", "desc"] = "asc"
    limit: int = Field(default=100, description="1 to 1,000.")

    def query(self) -> EventQuery:
        """The query that operations take.

        Raises:
            InvalidInput: `invalid_query`: parameters that contradict each other.
        """
        places = {"after": self.after, "since_seq": self.since_seq, "before_seq": self.before_seq}
        given = [name for name, place in places.items() if place is not None]
        if len(given) > 1:
            raise InvalidInput(f"{' and '.join(given)} exclude each other", code="invalid_query")
        wrong = self.since_seq if self.order == "desc" else self.before_seq
        if wrong is not None:
            raise InvalidInput(f"{given[0]} does not go with order={self.order}", code="invalid_query")
        after = self.since_seq - 1 if self.since_seq is not None else self.before_seq
        return EventQuery(after=self.after if after is None else after, order=self.order, limit=self.limit)


@router.get("/events", name="list_events", responses=answers(EventList, HTTPStatus.OK, 400, 404, 422))
async def list_events(request: Request, run_id: str, stretch: Annotated[Stretch, Query()]) -> Response:
    """A page of a run's events."""
    page = await operations_of(request).events.list(RunId(run_id), stretch.query())
    return json_answer(EventList(data=page.data, meta=EventMeta(has_more=page.has_more)))


@router.get("/attach", name="attach_run", responses=text_answers("text/event-stream", 400, 404))
async def attach(
    request: Request,
    run_id: str,
    after: Annotated[int, Query(ge=0, description="Events behind this one.")] = 0,
) -> Response:
    """A run's events as a stream that ends with the run. `Last-Event-ID` wins over `after`."""
    operations = operations_of(request)
    last = _last_event_id(request.headers.get("last-event-id"))
    seen = after if last is None else last
    run = await operations.runs.get(RunId(run_id))
    if seen > run.last_seq:
        raise InvalidInput(
            f"event {seen} is behind the last of run {run_id}, which is {run.last_seq}", code="invalid_event_id"
        )
    return EventStream(service_of(request), operations.events, RunId(run_id), after=seen)


@router.get(
    "/stages/{stage_id:path}/output", name="get_stage_output", responses=text_answers("text/plain", 400, 404, 409)
)
async def output(
    request: Request,
    run_id: str,
    stage_id: str,
    offset: Annotated[int, Query(ge=0, le=LARGEST_SEQ, description="Bytes to leave out.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1 << 20, description="Bytes to give, up to 1 MiB.")] = 64 << 10,
) -> Response:
    """What a stage's command wrote, as bytes; `x-output-bytes` is the size of the whole."""
    service = service_of(request)
    state = await operations_of(request).runs.state(RunId(run_id))
    return await stage_output(state, stage_id, service.backend.blobs, offset=offset, limit=limit)


def _last_event_id(said: str | None) -> int | None:
    if not said:
        return None
    if not (said.isascii() and said.isdecimal() and len(said) <= len(str(LARGEST_SEQ))):
        raise InvalidInput(f"last-event-id is {said!r}; wanted an event's number", code="invalid_event_id")
    return int(said)
