"""`fabro_run_events`: what happened in a run. Above: the catalogue. Below: event_scan, the calls.

Source: reference/mcp-server.md §1.7.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from fabro.calls import Calls
from fabro.clock import to_text
from fabro.errors import InvalidInput
from fabro.ids import RunId
from fabro.mcp_server.event_scan import FoundEvent, Selection, find_events
from fabro.mcp_server.tools.arguments import Arguments, JsonList
from fabro.mcp_server.tools.explain import shown
from fabro.mcp_server.tools.selectors import RUN_SELECTOR, check_selector, resolve
from fabro.mcp_server.tools.tool import Answer, Hints, Session, define

DEFAULT_FIRST = 50
Names = Annotated[JsonList[str], Field(max_length=200)]


class RunEventsArguments(Arguments):
    """Which events of which run."""

    misnamed = {
        "types": "event_types",
        "ids": "event_ids",
        "order": "direction",
        "cursor": "after",
        "text": "query",
    }

    action: Literal["list", "details", "search"] = Field(
        description="list: page through events. details: those of `event_ids`. search: those that hold `query`."
    )
    run_id: str = Field(description=f"{RUN_SELECTOR}.")
    event_types: Names = Field(default_factory=list, description="Only these events, such as stage.completed.")
    categories: Names = Field(
        default_factory=list, description="Only events whose name begins with one of these words, such as stage."
    )
    direction: Literal["asc", "desc"] = Field(default="asc", description="asc: oldest first. desc: newest first.")
    created_after: str | None = Field(
        default=None, description="Only events from then on: RFC 3339, or YYYY-MM-DD for midnight UTC."
    )
    created_before: str | None = Field(default=None, description="Only events up to then, inclusive; same forms.")
    first: int | None = Field(
        default=None, ge=1, le=200, description="How many events at most, 1 to 200; 50 if left out."
    )
    limit: int | None = Field(
        default=None, ge=1, le=200, description="Another name of `first`, used when that is not given."
    )
    after: int | None = Field(default=None, ge=0, description="Where to go on: `next_cursor` of the page before.")
    offset: int = Field(default=0, ge=0, le=100_000, description="How many matching events to skip.")
    event_ids: Names = Field(default_factory=list, description="Only these events; action details needs it.")
    max_content_length: int = Field(
        default=20_000,
        ge=1,
        le=200_000,
        description="Longest JSON of one event in bytes; a longer one comes as cut text with truncated true.",
    )
    query: str | None = Field(
        default=None,
        description="For action search: text that the event's JSON contains, upper and lower case apart.",
    )


class EventResult(BaseModel):
    """One event."""

    event_id: str = Field(description="The event's id.")
    sequence: int = Field(description="Its place in the run's log, from 1 without gaps.")
    event: Mapping[str, object] | str = Field(
        description="The envelope (seq, id, ts, run_id, event, properties; for stages node_id and stage_id), or "
        "the beginning of its JSON as text when `truncated`."
    )
    truncated: bool = Field(description="Whether the event was longer than `max_content_length`.")


class RunEventsResult(BaseModel):
    """A page of events."""

    run_id: str = Field(description="The run's whole id.")
    action: str = Field(description="The action that was asked for.")
    events: list[EventResult] = Field(description="The events, in the direction asked for.")
    next_cursor: int | None = Field(
        description="Pass it as `after` for the next page; null when this one is empty."
    )
    has_more: bool = Field(description="Whether events that match follow now.")


async def read_events(session: Session, arguments: RunEventsArguments) -> Answer:
    """A page of the events that match.

    Raises:
        InvalidInput: an argument that the action needs is missing, a time is none, `cursor_invalid`.
        NotFound: the selector means no run.
    """
    selector = check_selector(arguments.run_id)
    selection = _selection(arguments)
    longest = arguments.max_content_length
    first = arguments.first or arguments.limit or DEFAULT_FIRST
    calls = await session.backend.calls()
    run_id = await resolve(calls, selector)
    if arguments.after is not None:
        await _check_cursor(calls, run_id, arguments.after)
    found, has_more = await find_events(
        calls.events, run_id, selection, offset=arguments.offset, first=first, longest_text=longest
    )
    last = found[-1].envelope.seq if found else None
    result = RunEventsResult(
        run_id=run_id,
        action=arguments.action,
        events=[_result(one, longest) for one in found],
        next_cursor=last + 1 if last is not None and arguments.direction == "asc" else last,
        has_more=has_more,
    )
    more = ", more follow" if has_more else ""
    return Answer(result=result, text=f"Returned {len(found)} Fabro event(s) of run {run_id}{more}")


def _selection(arguments: RunEventsArguments) -> Selection:
    if arguments.action == "details" and not arguments.event_ids:
        raise InvalidInput("`event_ids` is required for action details", code="invalid_arguments")
    if arguments.action == "search" and not arguments.query:
        raise InvalidInput("`query` is required for action search", code="invalid_arguments")
    after = arguments.after
    if after is not None and arguments.direction == "asc":
        after = max(0, after - 1)  # the cursor is the next event's number, the calls want the one before
    return Selection(
        order=arguments.direction,
        after=after,
        ids=frozenset(arguments.event_ids),
        types=frozenset(arguments.event_types),
        categories=frozenset(arguments.categories),
        created_after=_moment("created_after", arguments.created_after),
        created_before=_moment("created_before", arguments.created_before),
        text=arguments.query if arguments.action == "search" else None,
    )


def _moment(place: str, text: str | None) -> str | None:
    """A time in the form of the envelopes, which sorts as text."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInput(
            f"`{place}` is {shown(text)}; wanted RFC 3339, such as 2026-05-01T12:00:00Z, or YYYY-MM-DD",
            code="invalid_arguments",
        ) from error
    return to_text(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


async def _check_cursor(calls: Calls, run_id: RunId, cursor: int) -> None:
    """Refuse a cursor that no page of this run can have given. Source: known fault S-17."""
    last = (await calls.runs.get(run_id)).last_seq
    if cursor > last + 1:
        raise InvalidInput(
            f"`after` is {cursor}, which is no cursor of run {run_id}: its last event is number {last}",
            code="cursor_invalid",
            hint="Pass next_cursor of the page before, or leave `after` out to begin anew.",
        )


def _result(found: FoundEvent, longest: int) -> EventResult:
    content = found.text.encode("utf-8", "surrogatepass")
    truncated = len(content) > longest
    beginning = content[:longest].decode("utf-8", "ignore")
    return EventResult(
        event_id=found.envelope.id,
        sequence=found.envelope.seq,
        event=beginning if truncated else found.whole,
        truncated=truncated,
    )


RUN_EVENTS = define(
    read_events,
    name="fabro_run_events",
    title="Read a run's events",
    description=(
        "Reads what happened in a run, event by event, without changing anything. Actions: `list` pages through "
        "the log, `details` gives the events of `event_ids`, `search` finds events whose JSON contains `query` "
        "(upper and lower case apart). All filters work with every action.\n\n"
        "To page, pass `next_cursor` as `after` while `has_more` is true; to hear of new events later, call again "
        "with the last `next_cursor`. Start with direction desc to see the newest. Useful names: run.failed, "
        "stage.failed, command.completed, prompt.completed, interview.started; useful categories: run, stage, "
        "command, interview.\n\n"
        'Example: {"action": "list", "run_id": "01K…", "event_types": ["stage.failed"], "direction": "desc"}'
    ),
    takes=RunEventsArguments,
    gives=RunEventsResult,
    hints=Hints(reads_only=True, is_idempotent=True),
)
