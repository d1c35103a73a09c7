from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from fabro.dot.parser import parse
from fabro.dot.printer import print_syntax
from fabro.dot.span import Source, Span
from fabro.dot.syntax import (
    Assignment,
    Attribute,
    Defaults,
    DefaultsTarget,
    EdgeStatement,
    Name,
    NodeStatement,
    Statement,
    Subgraph,
    Syntax,
    Value,
    ValueKind,
)

NOWHERE = Span(0, 0, 1, 1)
WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
NAMES = WORDS.map(lambda text: Name(text, NOWHERE))
NODE_NAMES = WORDS.filter(lambda text: text not in {"graph", "node", "edge"}).map(lambda text: Name(text, NOWHERE))
KEYS = st.lists(WORDS, min_size=1, max_size=2).map(".".join)


def value(kind: ValueKind, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Value]:
    return texts.map(lambda text: Value(kind, text, NOWHERE))


VALUES = st.one_of(
    value(ValueKind.STRING, st.text(alphabet=st.characters(exclude_characters="\0"))),
    value(ValueKind.DURATION, st.from_regex(r"-?[0-9]{1,5}(ms|s|m|h|d)", fullmatch=True)),
    value(ValueKind.FLOAT, st.from_regex(r"-?[0-9]{0,3}\.[0-9]{1,3}", fullmatch=True)),
    value(ValueKind.INTEGER, st.integers(-(2**63), 2**63 - 1).map(str)),
    value(ValueKind.WORD, st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)),
)


def attributes(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Attribute]:
    return st.builds(Attribute, keys, VALUES, st.just(NOWHERE))


BLOCKS = st.lists(attributes(KEYS), max_size=3).map(tuple)
SIMPLE: st.SearchStrategy[Statement] = st.one_of(
    st.builds(Defaults, st.sampled_from(DefaultsTarget), BLOCKS, st.just(NOWHERE)),
    st.builds(Assignment, attributes(WORDS)),
    st.builds(NodeStatement, NODE_NAMES, BLOCKS),
    st.builds(EdgeStatement, st.lists(NODE_NAMES, min_size=2, max_size=4).map(tuple), BLOCKS),
)


def subgraphs(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    return st.builds(Subgraph, st.none() | NAMES, st.lists(inner, max_size=4).map(tuple), st.just(NOWHERE))


STATEMENTS = st.recursive(SIMPLE, subgraphs, max_leaves=12)


def without_spans(item: object) -> object:
    """The tree as nested lists of what is written."""
    if isinstance(item, Span | Source):
        return None
    if isinstance(item, tuple):
        return [without_spans(part) for part in cast("tuple[object, ...]", item)]
    slots: tuple[str, ...] = getattr(item, "__slots__", ())
    if isinstance(item, Subgraph | Defaults | Assignment | NodeStatement | EdgeStatement | Syntax):
        return [type(item).__name__, *(without_spans(getattr(item, slot)) for slot in slots)]
    return item


@given(NAMES, st.lists(STATEMENTS, max_size=6).map(tuple))
def test_what_is_printed_reads_as_the_same(name: Name, statements: tuple[Statement, ...]) -> None:
    syntax = Syntax(name, statements, Source("w.fabro", ""))
    printed = print_syntax(syntax)
    again = parse(Source("w.fabro", printed))
    assert again.errors == ()
    assert without_spans(again.syntax) == without_spans(syntax)
    assert again.syntax is not None
    assert print_syntax(again.syntax) == printed


def test_the_form() -> None:
    text = 'digraph G{goal="x\ny" node[shape=box]a->b[weight=2]subgraph s{c}}'
    syntax = parse(Source("w.fabro", text)).syntax
    assert syntax is not None
    assert print_syntax(syntax) == (
        'digraph G {\n  goal="x\\ny";\n  node [shape=box];\n  a -> b [weight=2];\n  subgraph s {\n    c;\n  }\n}\n'
    )
