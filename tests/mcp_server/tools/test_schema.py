"""Tool schemas that no client chokes on. Source: known faults S-10, S-11, S-12."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import jsonschema
import pytest

from fabro.json_value import JsonObject
from fabro.mcp_server.tools.catalogue import TOOLS
from fabro.mcp_server.tools.tool import Tool

COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else")
REFERENCES = ("$ref", "$defs", "definitions", "$dynamicRef", "$schema")
LONGEST_NAME = 47
"""So that `mcp__<server>__` with a server's name of ten characters stays within 64."""
ALL_TOOLS = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def positions(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Every schema inside a schema, with its place."""
    yield path, schema
    for name, inner in cast("Mapping[str, JsonObject]", schema.get("properties", {})).items():
        yield from positions(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            yield from positions(cast("JsonObject", inner), f"{path}.{key}")


def types_of(schema: JsonObject) -> Sequence[str]:
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else cast("Sequence[str]", named)


@ALL_TOOLS
def test_names_and_words(tool: Tool) -> None:
    assert re.fullmatch(r"fabro_[a-z_]+", tool.name)
    assert len(tool.name) <= LONGEST_NAME
    assert tool.title
    assert len(tool.description) > 100


@ALL_TOOLS
@pytest.mark.parametrize("side", ["input_schema", "output_schema"])
def test_schemas_are_flat_and_described(tool: Tool, side: str) -> None:
    root = tool.input_schema if side == "input_schema" else tool.output_schema
    jsonschema.Draft202012Validator.check_schema(root)
    assert root["type"] == "object"
    assert root["properties"]
    for path, schema in positions(root):
        assert [key for key in (*COMBINATORS, *REFERENCES, "title", "const") if key in schema] == [], path
        assert types_of(schema), path
        if "array" in types_of(schema):
            assert isinstance(schema["items"], Mapping), path
        properties = cast("Mapping[str, JsonObject]", schema.get("properties", {}))
        assert set(cast("Sequence[str]", schema.get("required", []))) <= set(properties), path
        assert [name for name, inner in properties.items() if not inner.get("description")] == [], path
        assert all(isinstance(value, str) for value in cast("Sequence[object]", schema.get("enum", []))), path


@ALL_TOOLS
def test_arguments_have_no_free_fields_and_no_null(tool: Tool) -> None:
    for path, schema in positions(tool.input_schema):
        assert "null" not in types_of(schema), path
        if "properties" in schema:
            assert schema["additionalProperties"] is False, path


@ALL_TOOLS
def test_every_field_of_a_result_is_always_there(tool: Tool) -> None:
    for path, schema in positions(tool.output_schema):
        if "properties" in schema:
            names = set(cast("Mapping[str, object]", schema["properties"]))
            assert set(cast("Sequence[str]", schema["required"])) == names, path
