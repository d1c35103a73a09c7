"""Facts as JSON of bounded size. Above: the tools. Below: the clock's form of times."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import cast

from fabro.clock import to_text
from fabro.json_value import JsonObject, JsonValue

NAMED_BYTES = 8_000
"""Room for inputs or labels."""
NAMED_TEXT = 400


def compact(value: JsonValue) -> str:
    """JSON without blanks, other than ASCII as it is: the form whose bytes are counted and searched."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: JsonValue) -> int:
    """Bytes of a value on the wire."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


def cut(text: str, longest: int) -> str:
    """The text, or its beginning and its end around a note of how much was left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} of {len(text)} characters left out …\n{text[-half:]}"


def within(named: Mapping[str, object], room: int = NAMED_BYTES) -> dict[str, JsonValue]:
    """The first of the named values, as many as there is room for; values that are long texts are cut."""
    kept: dict[str, JsonValue] = {}
    for name, value in named.items():
        kept[name] = plain(value, NAMED_TEXT)
        if size(kept) > room:
            del kept[name]
            kept["…"] = f"{len(named) - len(kept)} more are left out"
            break
    return kept


def plain(value: object, longest_text: int) -> JsonValue:
    """A fact as JSON: dataclasses become objects without their empty fields, times text, long texts are cut."""
    match value:
        case str():  # enums of words are words
            return cut(str(value), longest_text)
        case None | bool() | int() | float():
            return value
        case datetime():
            return to_text(value)
        case Mapping():
            entries = cast("Mapping[object, object]", value)
            return {str(key): plain(item, longest_text) for key, item in entries.items()}
        case Sequence():
            return [plain(item, longest_text) for item in cast("Sequence[object]", value)]
        case _:
            return plain_object(value, longest_text)


def plain_object(fact: object, longest_text: int, *, without: Sequence[str] = ()) -> JsonObject:
    """A dataclass as a JSON object, without its empty fields and those named."""
    assert is_dataclass(fact)
    named = ((field.name, getattr(fact, field.name)) for field in fields(fact) if field.name not in without)
    return {name: plain(value, longest_text) for name, value in named if value is not None}
