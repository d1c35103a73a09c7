from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.json_value import JsonValue
from fabro.workflow.condition import MAX_SEARCHED, resolve, text_of
from fabro.workflow.condition_parser import ConditionError, parse_condition

VALUES: Mapping[str, JsonValue] = {
    "outcome": "failed",
    "count": 7,
    "price": "3.5",
    "done": True,
    "off": False,
    "zero": 0,
    "empty": "",
    "nothing": None,
    "tags": ["a", "b", 3],
    "report": {"tests": {"failed": 2}, "names": ["x", {"deep": "y"}]},
    "command.output": "all good\nERROR 42",
    "context.odd": "whole",
    "odd": "short",
}


def holds(text: str, values: Mapping[str, JsonValue] = VALUES) -> bool:
    return parse_condition(text).holds(lambda key: resolve(values, key))


@pytest.mark.parametrize(
    "text",
    [
        "outcome=failed",
        "outcome = failed",
        "outcome == failed",
        "outcome=fail",
        "outcome!=succeeded",
        'outcome="failed"',
        "count>6 && count >= 7 && count<8 && count <= 7",
        "price > 3.4",
        "done",
        "!off && !zero && !empty && !nothing && !missing",
        "done=true && off=false && nothing=",
        "missing=",
        'missing=""',
        "empty= && done",
        "tags contains b",
        "tags contains 3",
        'tags=["a","b",3]'.replace('["a","b",3]', r'"[\"a\",\"b\",3]"'),
        "command.output contains ERROR",
        'command.output matches "ERROR [0-9]+"',
        "command.output matches ^all",
        "command.output matches (good)",
        "off || done",
        "off && off || done",
        "done || off && off",
        "(off || done) && done",
        "!(off || zero)",
        "!outcome=succeeded",
        "!!done",
        "((outcome=failed))",
        "(tags contains b)",
        "(command.output matches ^(all|none))".replace("|none", ""),
        "report.tests.failed=2",
        "context.report.tests.failed > 1",
        "report.names.1.deep=y",
        "context.odd=whole",
        "context.count=7",
        "contains=",
        "matches || done",
    ],
)
def test_true(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "outcome=Failed",
        "outcome=succeeded",
        "count>abc",
        "tags>1",
        "tags contains c",
        "tags contains a,b",
        "command.output matches ^ERROR",
        "report.tests.passed",
        "report.names.9",
        "report.names.x",
        "outcome.deeper",
        "off || zero",
        "off && (done || done)",
        "missing>0",
    ],
)
def test_false(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("=x", 0),
        ("a = = b", 4),
        ("a &&", 4),
        ("a && && b", 5),
        ("a b", 2),
        ("a contains", 10),
        ("a >", 3),
        ("a & b", 2),
        ("a | b", 2),
        ("(a", 0),
        ("a = b)c || (d", 11),
        ('a = "b', 4),
        ("!", 1),
        ("a matches [", 10),
        ('a matches "(?=x)"', 10),
        (r'a matches "(a)\\1"', 10),
        ("a matches " + "x" * 1001, 10),
        ("(" * 100 + "a" + ")" * 100, 65),
        ("!" * 100 + "a", 65),
        ("a" * 9000, 0),
        ("   ", 3),
    ],
)
def test_refused(text: str, offset: int) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(text)
    assert caught.value.offset == offset
    assert caught.value.message


def test_a_parenthesis_may_close_a_word_where_no_group_is_open() -> None:
    assert parse_condition("a contains :)").clauses[0].value == ":)"
    assert parse_condition("(a contains (x) && b)").clauses[0].value == "(x)"


def test_keys_and_old_outcome_words() -> None:
    condition = parse_condition("outcome=success && (context.a.b > 1 || !c) && other=success")
    assert condition.keys == {"outcome", "context.a.b", "c", "other"}
    assert condition.aliases == ("success",)
    assert [clause.value for clause in condition.clauses] == ["succeeded", "1", "", "success"]


def test_matching_looks_at_the_beginning_alone() -> None:
    assert not holds("a matches end", {"a": "x" * MAX_SEARCHED + "end"})
    assert holds("a matches end", {"a": "x" * (MAX_SEARCHED - 3) + "end"})


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (1.5, "1.5"), ("é", "é"), ([1, "é"], '[1,"é"]'), ({"a": None}, '{"a":null}')],
)
def test_text_of(value: JsonValue, text: str) -> None:
    assert text_of(value) == text


JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(["a", "b", "a.b", "a.0", "context.a", "context.a.b", "outcome"])
CLAUSES = (
    st.builds(
        "{} {} {}".format,
        KEYS,
        st.sampled_from(["=", "!=", ">", "<", ">=", "<=", "contains", "matches", "=="]),
        st.sampled_from(["1", "x", '""', "true", "1.5", '"[a"']),
    )
    | KEYS
)
CONDITIONS = st.recursive(
    CLAUSES,
    lambda inner: st.one_of(
        inner.map("!({})".format),
        st.builds("({} && {})".format, inner, inner),
        st.builds("{} || {}".format, inner, inner),
    ),
    max_leaves=8,
)


@given(CONDITIONS, st.dictionaries(KEYS, JSON))
def test_evaluation_is_total(text: str, values: Mapping[str, JsonValue]) -> None:
    try:
        condition = parse_condition(text)
    except ConditionError:
        return
    assert condition.holds(lambda key: resolve(values, key)) in {True, False}
    assert parse_condition(f"!({text})").holds(lambda key: resolve(values, key)) != condition.holds(
        lambda key: resolve(values, key)
    )


@given(st.text() | st.text(alphabet='ab ="!&|()<>\\.*+[]{}'))
def test_any_text_is_a_condition_or_an_error_at_a_place(text: str) -> None:
    try:
        condition = parse_condition(text)
    except ConditionError as error:
        offset = error.offset
    else:
        condition.holds(VALUES.get)
        offset = 0
    assert 0 <= offset <= len(text)


@pytest.mark.parametrize("pattern", ["(x+)+$", "(a|aa)+$", r"(\\w+\\s?)*$", ".*.*.*.*.*=.*"])
@pytest.mark.timeout(20)
def test_no_expression_takes_long(pattern: str) -> None:
    condition = parse_condition(f'a matches "{pattern}"')
    for text in ("a" * MAX_SEARCHED, "x" * MAX_SEARCHED, "a " * MAX_SEARCHED):
        condition.holds({"a": text + "!"}.get)


def test_a_half_of_a_surrogate_pair_is_searched_like_anything_else() -> None:
    assert holds("a matches b", {"a": "\ud800b"})
