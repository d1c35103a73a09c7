"""An event as programs see it from outside. Above: REST, SSE, MCP, pages. Below: events.

Source: reference/mcp-server.md §6 (event envelope); docs/events.md is its page for users.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import cast

from fabro.clock import to_text
from fabro.ids import NodeId, RunId, StageId, split_stage_id
from fabro.json_value import JsonObject, JsonValue
from fabro.run.events import StoredEvent, UnknownEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class EventEnvelope:
    """An event with its place. `ts` is RFC 3339 in UTC with milliseconds; `properties` is JSON all the way down.

    `node_id` and `stage_id` are set where the event speaks of a stage, and then stand here instead of among the
    properties.
    """

    seq: int
    id: str
    ts: str
    run_id: RunId
    event: str
    node_id: NodeId | None = None
    stage_id: StageId | None = None
    properties: Mapping[str, JsonValue]


def to_envelope(stored: StoredEvent) -> EventEnvelope:
    """The event's wire form. A property is left out where its value is None; all others are there, defaults too."""
    event = stored.event
    properties = dict(event.properties if isinstance(event, UnknownEvent) else _json_fields(event))
    node, stage = _take_stage(properties)
    return EventEnvelope(
        seq=stored.seq,
        id=stored.id,
        ts=to_text(stored.at),
        run_id=stored.run_id,
        event=event.name,
        node_id=node,
        stage_id=stage,
        properties=properties,
    )


def to_json_object(envelope: EventEnvelope) -> JsonObject:
    """The envelope as the JSON object that is sent; ids that do not apply are left out."""
    return _json_fields(envelope)


def _take_stage(properties: dict[str, JsonValue]) -> tuple[NodeId | None, StageId | None]:
    """Move the stage out of the properties; what does not have a stage id's form stays where it is."""
    value = properties.get("stage_id")
    if not isinstance(value, str):
        return None, None
    try:
        node, _ = split_stage_id(StageId(value))
    except ValueError:
        return None, None
    del properties["stage_id"]
    return node, StageId(value)


def _json_fields(fact: object) -> dict[str, JsonValue]:
    assert is_dataclass(fact)
    named = ((field.name, getattr(fact, field.name)) for field in fields(fact))
    return {name: _json(value) for name, value in named if value is not None}


def _json(value: object) -> JsonValue:
    match value:
        case str():  # enums of words are words
            return str(value)
        case None | bool() | int() | float():
            return value
        case datetime():
            return to_text(value)
        case Mapping():
            return {str(key): _json(item) for key, item in cast("Mapping[object, object]", value).items()}
        case Sequence():
            return [_json(item) for item in cast("Sequence[object]", value)]
        case _:
            return _json_fields(value)
