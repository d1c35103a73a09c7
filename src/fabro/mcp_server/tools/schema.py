"""Tool schemas that every client can read. Above: the tools. Below: pydantic.

Clients and the providers behind them differ in what they take, and one schema that they do not take costs the
whole list. So: an object at the root without combinators, no references, no `anyOf`, a description for every
property. Source: known faults S-10 and S-11 are the test.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from pydantic import BaseModel

from fabro.json_value import JsonObject, JsonValue

Schema: TypeAlias = "dict[str, JsonValue]"
_DROPPED = frozenset({"$defs", "title", "discriminator"})


def input_schema(model: type[BaseModel]) -> JsonObject:
    """The schema of a tool's arguments; null is accepted for what may be left out, and not advertised."""
    return _flat_root(model, with_null=False)


def output_schema(model: type[BaseModel]) -> JsonObject:
    """The schema of a tool's result; null is written `"type": [..., "null"]`."""
    return _flat_root(model, with_null=True)


def _flat_root(model: type[BaseModel], *, with_null: bool) -> Schema:
    whole = cast("Schema", model.model_json_schema())
    return _Flattener(cast("Mapping[str, Schema]", whole.get("$defs", {})), with_null=with_null).flat(whole)


class _Flattener:
    """Writes a schema without references and alternatives."""

    def __init__(self, definitions: Mapping[str, Schema], *, with_null: bool) -> None:
        self._definitions = definitions
        self._with_null = with_null

    def flat(self, schema: Schema) -> Schema:
        """The schema in one piece."""
        merged = self._one(self._resolved(schema))
        result = {key: self._value(key, value) for key, value in merged.items() if key not in _DROPPED}
        if "const" in result:
            result["enum"] = [result.pop("const")]
        if "default" in result and result["default"] is None:
            del result["default"]
        return result

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if key == "properties":
            return {name: self.flat(schema) for name, schema in cast("Mapping[str, Schema]", value).items()}
        if key in ("items", "additionalProperties") and isinstance(value, dict):
            return self.flat(value)
        return value

    def _resolved(self, schema: Schema) -> Schema:
        """The schema with its reference replaced by what it refers to; its own words win."""
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = self._definitions[reference.rsplit("/", 1)[-1]]
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return {**self._resolved(target), **own}

    def _one(self, schema: Schema) -> Schema:
        """The schema with its alternatives joined into one that lists their types."""
        alternatives = schema.get("anyOf")
        if alternatives is None:
            return schema
        parts = [self._one(self._resolved(part)) for part in cast("Sequence[Schema]", alternatives)]
        if not self._with_null:
            parts = [part for part in parts if part.get("type") != "null"]
        joined: Schema = {}
        for part in parts:
            joined |= part
        types = [name for part in parts for name in _types(part)]
        joined["type"] = types[0] if len(types) == 1 else types
        own = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**joined, **own}


def _types(schema: Schema) -> list[str]:
    named = schema["type"]
    return [named] if isinstance(named, str) else list(cast("Sequence[str]", named))
