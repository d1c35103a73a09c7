"""Events and summaries as JSON text. Above: the stores. Below: events, summaries; pydantic reads, and only here.

An event's name stands beside its body, not in it. The body leaves out fields that have their default, so a default
never changes once it is released. Reading is lenient about properties that this version does not know (they are
dropped) and about events that it does not know (they are kept whole as `UnknownEvent`); writing is strict, since
whatever is written is read back at once. Text that UTF-8 can't hold (lone surrogates) becomes U+FFFD, and numbers
that JSON does not have (NaN, infinities) become null.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import TypeVar, cast

import pydantic
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from fabro.errors import FabroError, TooLarge
from fabro.json_value import JsonObject
from fabro.projections.summary import RunSummary
from fabro.run.events import KNOWN_EVENTS, Event, UnknownEvent
from fabro.run.ledger import IllegalEvent

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The most that one event may take as JSON; larger contents are blobs, which events name."""

Upcast = Callable[[JsonObject], tuple[str, JsonObject]]
"""From an old event's properties, of whatever age, to the event's name and properties of today."""

UPCASTS: Mapping[str, Upcast] = {}
"""Upcasts by the name under which the old event is stored. Empty as long as no released shape has changed."""

_T = TypeVar("_T")
_JSON_TYPES = {"JsonValue": pydantic.JsonValue, "Sequence": Sequence, "Mapping": Mapping}


class Undecodable(FabroError):
    """Stored text is not what its name promises. The store knows of which run and says so."""

    default_code = "undecodable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """An event as it is written, and as it will be read: `event` is decoded from `body`, a JSON object."""

    name: str
    body: str
    event: Event


def encode(event: Event) -> Encoded:
    """The event's stored form.

    Raises:
        IllegalEvent: a field does not hold what its type says, so that the event could not be read again.
        TooLarge: the event is over `MAX_EVENT_BYTES`.
    """
    name = _well_formed(event.name)
    try:
        body = _to_json(event.properties if isinstance(event, UnknownEvent) else _given(event))
        decoded = decode(name, body)
    except (TypeError, ValueError, RecursionError, Undecodable) as error:
        raise IllegalEvent(f"{name} can't be written: {error}") from error
    if len(body) > MAX_EVENT_BYTES:
        raise TooLarge(f"event {name} has {len(body)} bytes; at most {MAX_EVENT_BYTES} are kept")
    return Encoded(name=name, body=body.decode(), event=decoded)


def decode(name: str, body: str | bytes, *, upcasts: Mapping[str, Upcast] = UPCASTS) -> Event:
    """The event that was stored.

    Raises:
        Undecodable: the body is no JSON object, or it lacks what an event of that name needs.
    """
    try:
        upcast = upcasts.get(name)
        if upcast is None:
            kind = KNOWN_EVENTS.get(name)
            if kind is not None:
                return adapter(kind).validate_json(body)
            return UnknownEvent(name=name, properties=_json_object(body))
        name, properties = upcast(_json_object(body))
        kind = KNOWN_EVENTS.get(name)
        if kind is None:
            return UnknownEvent(name=name, properties=properties)
        return adapter(kind).validate_python(properties)
    except ValueError as error:
        raise Undecodable(f"{name}: {_reason(error)}") from error


def encode_summary(summary: RunSummary) -> str:
    """A run's summary as JSON text."""
    return _to_json(_given(summary)).decode()


def decode_summary(text: str | bytes) -> RunSummary:
    """The inverse of `encode_summary`.

    Raises:
        Undecodable: the text is empty, or of a version whose summaries differ.
    """
    try:
        return adapter(RunSummary).validate_json(text)
    except ValueError as error:
        raise Undecodable(f"summary: {_reason(error)}") from error


@cache
def adapter(kind: type[_T]) -> TypeAdapter[_T]:
    """The reader of one class, made when it is first needed; `JsonValue`, being recursive, is pydantic's own."""
    made = TypeAdapter(kind)
    made.rebuild(_types_namespace=_JSON_TYPES)
    return made


@cache
def _defaults(kind: type) -> tuple[tuple[str, object], ...]:
    """A dataclass's fields with their defaults; MISSING, which equals nothing, where a value must be given."""
    return tuple(
        (field.name, field.default if field.default_factory is MISSING else field.default_factory())
        for field in fields(kind)
    )


def _given(fact: object) -> dict[str, object]:
    """The fields that differ from their defaults. Nested facts are written in full, tags of unions among them."""
    return {name: value for name, default in _defaults(type(fact)) if (value := getattr(fact, name)) != default}


def _to_json(properties: Mapping[str, object]) -> bytes:
    try:
        return to_json(properties, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(properties, ensure_ascii=False, default=_plain)
        return to_json(from_json(_well_formed(text)), inf_nan_mode="null")


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise TypeError(f"{type(value).__name__} is not JSON")


def _well_formed(text: str) -> str:
    """Text as Unicode wants it: pairs of surrogates joined, lone ones replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_object(body: str | bytes) -> JsonObject:
    value: object = from_json(body)
    if not isinstance(value, dict):
        raise ValueError("the body is no JSON object")  # noqa: TRY004
    return cast("JsonObject", value)


def _reason(error: ValueError) -> str:
    if not isinstance(error, pydantic.ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ": ".join([*(str(part) for part in found["loc"]), found["msg"]])
