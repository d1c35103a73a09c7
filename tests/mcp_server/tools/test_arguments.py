"""Arguments as language models send them."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pytest
from pydantic import Field

from fabro.errors import InvalidInput
from fabro.mcp_server.tools.arguments import Arguments, JsonList, JsonMap, decode


class Inner(Arguments):
    misnamed = {"colour": "paint.color"}

    name: str = Field(description="The name. And more.")
    size: int | None = Field(default=None, ge=1, le=9)


class Outer(Arguments):
    items: Annotated[JsonList[Inner], Field(min_length=1, max_length=2)]
    labels: JsonMap[str] = Field(default_factory=dict)
    mode: Literal["fast", "slow"] = "fast"
    wait: bool | None = None
    inner: Inner | None = None


def refusal_of(arguments: Mapping[str, object]) -> str:
    with pytest.raises(InvalidInput) as caught:
        decode(Outer, arguments)  # pyright: ignore[reportArgumentType] - deliberately anything
    assert caught.value.code == "invalid_arguments"
    return caught.value.message


def test_json_in_text_is_taken_where_a_list_or_an_object_is_wanted() -> None:
    decoded = decode(
        Outer,
        {"items": '[{"name": "a"}, "{\\"name\\": \\"b\\"}"]', "labels": '{"k": "{}"}', "inner": '{"name": "[c]"}'},
    )
    assert [one.name for one in decoded.items] == ["a", "b"]
    assert decoded.labels == {"k": "{}"}
    assert decoded.inner == Inner(name="[c]")


def test_null_means_left_out() -> None:
    decoded = decode(Outer, {"items": [{"name": "a", "size": None}], "labels": None, "mode": None, "wait": None})
    assert (decoded.labels, decoded.mode, decoded.wait) == ({}, "fast", None)


def test_an_explicit_false_is_kept() -> None:
    assert decode(Outer, {"items": [{"name": "a"}], "wait": False}).wait is False


REFUSALS: list[tuple[Mapping[str, object], str]] = [
    ({}, "`items` is missing"),
    ({"items": None}, "`items` is missing"),
    ({"items": [{}]}, "`items[0].name` is missing (The name)"),
    ({"items": []}, "`items` has 0 items; wanted at least 1"),
    ({"items": [{"name": "a"}] * 3}, "`items` has 3 items; wanted at most 2"),
    ({"items": 5}, "`items` is the number 5; wanted a list"),
    ({"items": "abc"}, '`items` is the string "abc"; wanted a list'),
    ({"items": ["nightly"]}, '`items[0]` is the string "nightly"; wanted an object'),
    ({"items": [{"name": 1}]}, "`items[0].name` is the number 1; wanted a string"),
    ({"items": [{"name": {"a": 1}}]}, '`items[0].name` is the object {"a": 1}; wanted a string'),
    ({"items": [{"name": "a", "size": 10}]}, "`items[0].size` is 10; wanted at most 9"),
    ({"items": [{"name": "a", "size": 0}]}, "`items[0].size` is 0; wanted at least 1"),
    ({"items": [{"name": "a", "size": "x"}]}, '`items[0].size` is the string "x"; wanted a whole number'),
    ({"items": [{"name": "a", "size": 1.5}]}, "`items[0].size` is the number 1.5; wanted a whole number"),
    (
        {"items": [{"name": "a"}], "mode": "FAST"},
        "`mode` is the string \"FAST\"; wanted one of 'fast' or 'slow'",
    ),
    ({"items": [{"name": "a"}], "wait": "maybe"}, '`wait` is the string "maybe"; wanted true or false'),
    ({"items": [{"name": "a"}], "labels": []}, "`labels` is the list []; wanted an object"),
    ({"items": [{"name": "a"}], "labels": {"k": None}}, "`labels.k` is null; wanted a string"),
    ({"items": [{"name": "a"}], "lables": {}}, "there is no field `lables`; use `labels`"),
    ({"items": [{"name": "a", "nmae": 1}]}, "there is no field `items[0].nmae`; use `items[0].name`"),
    ({"items": [{"name": "a", "colour": 1}]}, "no field `items[0].colour`; use `items[0].paint.color`"),
    ({"items": [{"name": "a"}], "inner": {"name": "a", "nmae": None}}, "`inner.nmae`; use `inner.name`"),
    ({"items": [{"name": "a"}], "zzz": 1}, "`zzz`; the fields are items, labels, mode, wait, inner"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSALS)
def test_refusals_name_the_field_what_came_and_what_was_wanted(arguments: Mapping[str, object], said: str) -> None:
    assert said in refusal_of(arguments)


def test_long_values_are_cut_and_of_many_errors_five_are_told() -> None:
    assert len(refusal_of({"items": [{"name": "a"}], "mode": "x" * 1000})) < 200
    assert refusal_of({f"unknown{number}": 1 for number in range(10)}).endswith("; and 6 more")
