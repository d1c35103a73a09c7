from collections.abc import Sequence
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.dot.cursor import MAX_PROBLEMS
from fabro.dot.parser import MAX_NESTING, Parsed, parse
from fabro.dot.span import Source
from fabro.dot.syntax import (
    Assignment,
    Defaults,
    EdgeStatement,
    NodeStatement,
    Statement,
    Subgraph,
    ValueKind,
)


def parsed(text: str) -> Parsed:
    return parse(Source("w.fabro", text))


def statements(body: str) -> Sequence[Statement]:
    result = parsed(f"digraph G {{ {body} }}")
    assert result.syntax is not None, result.errors
    return result.syntax.statements


def problems(text: str) -> list[tuple[int, int, str]]:
    result = parsed(text)
    assert result.syntax is None
    return [(error.span.line, error.span.column, error.message) for error in result.errors]


def test_each_kind_of_statement() -> None:
    found = statements(
        'graph [goal="x"] node [shape=box] edge [weight=1]; rankdir=LR a b [x=1] a->b->c [y=2]; subgraph s { d }'
    )
    kinds = [type(statement) for statement in found]
    assert kinds == [
        Defaults,
        Defaults,
        Defaults,
        Assignment,
        NodeStatement,
        NodeStatement,
        EdgeStatement,
        Subgraph,
    ]
    edge = found[6]
    assert isinstance(edge, EdgeStatement)
    assert [name.text for name in edge.chain] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("written", "kind", "text"),
    [
        ('"a b"', ValueKind.STRING, "a b"),
        ('"two\nlines"', ValueKind.STRING, "two\nlines"),
        ("900s", ValueKind.DURATION, "900s"),
        ("-2", ValueKind.INTEGER, "-2"),
        ("-9223372036854775808", ValueKind.INTEGER, "-9223372036854775808"),
        (".5", ValueKind.FLOAT, ".5"),
        ("true", ValueKind.WORD, "true"),
        ("claude-sonnet-4-5", ValueKind.WORD, "claude-sonnet-4-5"),
        ("gpt-5.4", ValueKind.WORD, "gpt-5.4"),
        ("LR", ValueKind.WORD, "LR"),
    ],
)
def test_values(written: str, kind: ValueKind, text: str) -> None:
    for body in (f"n [k={written}]", f"n [k={written},]", f"n [k={written} l=1]"):
        (node,) = statements(body)
        assert isinstance(node, NodeStatement)
        assert (node.attributes[0].value.kind, node.attributes[0].value.text) == (kind, text)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "a []",
        "a [x=1, y=2; z=3 w=4;]",
        "a [human.default_choice=x]",
        "node_x graphics edges subgraph_a",
        "graph node -> edge; subgraph",
        "subgraph { a } subgraph b { c; }",
        "graph [a=1 b=2]",
        'a -> b -> c -> d [condition="outcome=failed"];',
        "// a { comment\n a /* { */ -> b",
        "node = 5",
        'a [\n label="x"\n shape=box\n]',
    ],
)
def test_accepted(body: str) -> None:
    statements(body)


@pytest.mark.parametrize(
    "text", ["\ufeffdigraph G {\r\n a -> b\r\n}\r\n", "digraph G{}", "digraph G {} /* open", "// {\ndigraph G {}"]
)
def test_accepted_files(text: str) -> None:
    assert parsed(text).syntax is not None


@pytest.mark.parametrize(
    ("text", "place", "message", "fix"),
    [
        ("strict digraph G {}", (1, 1), "`strict` is not supported", "delete"),
        ("graph G { }", (1, 1), "undirected", "digraph"),
        ("digraph G { a -- b }", (1, 15), "`--` is not supported", "->"),
        ("digraph G { a--b }", (1, 13), "`--` is not supported", "->"),
        ("digraph { }", (1, 1), "no name", "digraph NAME {"),
        ("digraph G {} digraph H {}", (1, 14), "after the graph's closing brace", "one graph"),
        ("digraph G {} x", (1, 14), "after the graph's closing brace", "one graph"),
        ('digraph G { "a b" -> c }', (1, 13), "quoted names", "a_b"),
        ("digraph G { 1 }", (1, 13), "can't begin with a digit", "n_1"),
        ("digraph G { my-node }", (1, 13), "can't hold `-`", "my_node"),
        ("digraph G { a.b -> c }", (1, 13), "can't hold `-` or `.`", "a_b"),
        ("digraph G { a:p -> c }", (1, 14), "ports", "delete"),
        ("digraph G { a [label=<b>] }", (1, 22), "HTML labels", '"…"'),
        ("digraph G { {a b} -> c }", (1, 13), "group", "one edge for each"),
        ("digraph G { a -> {b c} }", (1, 18), "group", "one edge for each"),
        ("digraph G { a -> subgraph x {b c} }", (1, 18), "group", "one edge for each"),
        ("digraph G { subgraph x {b c} -> a }", (1, 13), "group", "one edge for each"),
        ("digraph G { a [x=1] [y=2] }", (1, 21), "one block", "join"),
        ("digraph G { a.b = 1 }", (1, 13), "statement of its own", "graph [a.b = …]"),
        ("Digraph G { }", (1, 1), "lower case", "digraph"),
        ("digraph G { a; ; b }", (1, 16), "ends nothing", "delete"),
        ("digraph G { subgraph s { a }; }", (1, 29), "ends nothing", "delete"),
        ("digraph G {\n# note\n a }", (2, 1), "does not begin a comment", "//"),
        ('digraph G { a [x="1" + "2"] }', (1, 22), "joined", "one string"),
        ("digraph G { a [x=openai:gpt] }", (1, 18), "needs quotes", '"openai:gpt"'),
        ("digraph G { a [x=1e5] }", (1, 18), "needs quotes", '"1e5"'),
        ("digraph G { a [x=1.2.3] }", (1, 18), "needs quotes", '"1.2.3"'),
        ("digraph G { a [x=1.] }", (1, 18), "not a number", "digits"),
        ("digraph G { a [x=9223372036854775808] }", (1, 18), "64 bits", "smaller"),
        ("digraph G { a [x] }", (1, 16), "no value", "x=…"),
        ("digraph G { a [x=] }", (1, 18), "expected a value", '"…"'),
        ("digraph G { a [my-key=1] }", (1, 16), "attribute's name", "my_key"),
        ('digraph G { a [x="1] }', (1, 18), "never closed", '`"`'),
        ("digraph G { a [x=1\n b -> c }", (1, 15), "`[` is never closed", "]"),
        ("digraph G { a [x=1 }", (1, 15), "`[` is never closed", "]"),
        ("digraph G { a ", (1, 11), "`{` is never closed", "}"),
        ("digraph G { a /* b }", (1, 15), "comment is never closed", "*/"),
        ("digraph G { a -> }", (1, 18), "expected a node", "node"),
        ("digraph G { -> a }", (1, 13), "expected a node", "leaves"),
        ("digraph G { a, b }", (1, 14), "expected a node, found `,`", "node"),
        ("digraph G { a \0 }", (1, 15), "NUL", "UTF-8"),
        ("", (1, 1), "no graph", "digraph NAME"),
        ("hello", (1, 1), "expected `digraph`", "digraph NAME"),
        ("# x\ndigraph G {}", (1, 1), "does not begin a comment", "//"),
    ],
)
def test_refused(text: str, place: tuple[int, int], message: str, fix: str) -> None:
    first = parsed(text).errors[0]
    assert (first.span.line, first.span.column) == place
    assert message in first.message
    assert fix in first.fix


def test_one_run_finds_several_problems() -> None:
    text = 'digraph G {\n "a b" -> c\n d [x=]\n e -- f\n g [label=<b>]\n h\n}'
    assert [line for line, _, _ in problems(text)] == [2, 3, 4, 5]


def test_a_problem_does_not_hide_the_rest_of_the_file() -> None:
    text = "digraph G {\n a [x=1\n b -> c\n d:port -> e\n}"
    assert [line for line, _, _ in problems(text)] == [2, 4]


def test_spans_cover_the_text_they_speak_of() -> None:
    text = 'digraph G {\n  a -> bcd [weight=12, label="x y"]\n}'
    result = parsed(text)
    assert result.syntax is not None
    (edge,) = result.syntax.statements
    assert isinstance(edge, EdgeStatement)
    spans = [
        edge.chain[1].span,
        edge.attributes[0].span,
        edge.attributes[0].value.span,
        edge.attributes[1].value.span,
    ]
    assert [text[span.start : span.end] for span in spans] == ["bcd", "weight", "12", '"x y"']
    assert (spans[0].line, spans[0].column) == (2, 8)


def test_nesting_is_bounded() -> None:
    deep = "digraph G {" + "subgraph {" * MAX_NESTING + "}" * MAX_NESTING + "}"
    assert parsed(deep).syntax is not None
    text = "digraph G {" + "subgraph {" * 5000 + "}" * 5000 + "}"
    assert [message for *_, message in problems(text)] == [f"subgraphs are nested more than {MAX_NESTING} deep"]


def test_the_number_of_problems_is_bounded() -> None:
    assert len(problems("digraph G {" + "a -- b\n" * 500 + "}")) == MAX_PROBLEMS


PIECES = st.sampled_from(
    [
        "digraph",
        "G",
        "{",
        "}",
        "[",
        "]",
        "a",
        "b-c",
        "->",
        "--",
        "=",
        ",",
        ";",
        ":",
        "<",
        ">",
        "#x\n",
        '"s"',
        '"',
        "1",
        "5m",
        "1.",
        "subgraph",
        "graph",
        "node",
        "+",
        "\n",
        " ",
        "//",
        "/*",
        "*/",
        "\\",
        "strict",
        "x=",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join) | st.lists(PIECES, max_size=60).map(" ".join))
def test_any_text_gives_a_tree_or_problems(text: str) -> None:
    for file in (text, f"digraph G {{ {text} }}"):
        result = parsed(file)
        assert (result.syntax is None) == bool(result.errors)
        for error in result.errors:
            assert error.message
            assert error.fix
            assert 0 <= error.span.start < error.span.end
            assert error.span.start <= len(file)


@given(st.text())
def test_any_unicode_is_survived(text: str) -> None:
    parsed(text)
    parsed(f"digraph G {{ a [label={text}] }}")


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "[",
        "a [",
        "a->",
        "a;",
        "a [b=c]",
        "a:b ",
        '"a" ',
        "subgraph {",
        "<",
        "a [x=<",
        "a=",
        "- ",
        "a [x=1 y",
        "{ a } -> ",
    ],
)
def test_time_is_linear(piece: str) -> None:
    text = "digraph G {" + piece * (60_000 // len(piece)) + "}"
    started = process_time()
    parsed(text)
    assert process_time() - started < 2
