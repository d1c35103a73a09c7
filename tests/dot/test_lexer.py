from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.dot.lexer import END_TOKENS, TokenKind, literal_offset, quote, tokenize, unquote


def kinds(text: str) -> list[TokenKind]:
    return tokenize(text).kinds[:-END_TOKENS]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a->b", ["WORD", "ARROW", "WORD"]),
        ("claude-sonnet-4-5", ["WORD"]),
        ("gpt-5.4", ["WORD"]),
        ("human.default_choice", ["WORD"]),
        ("15m", ["DURATION"]),
        ("5min", ["INTEGER", "WORD"]),
        ("-3 1.5 -.5 100ms", ["INTEGER", "FLOAT", "FLOAT", "DURATION"]),
        ("1.", ["BAD_NUMBER"]),
        ("// a { comment\nx /* another\n { */ y", ["WORD", "WORD"]),
        ('"a // b" "/*"', ["STRING", "STRING"]),
        ("# no", ["HASH"]),
        ('"open', ["UNCLOSED_STRING"]),
        ("/* open", ["UNCLOSED_COMMENT"]),
        ("a -- b", ["WORD", "UNDIRECTED", "WORD"]),
        ("a=1b=2", ["WORD", "EQUALS", "INTEGER", "WORD", "EQUALS", "INTEGER"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert [kind.name for kind in kinds(text)] == expected


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r'"\\ \n \t"', "\\ \n \t"),
        (r'"\d+ \{"', r"\d+ \{"),
        ('"a\\\nb"', "a\\\nb"),
        ('"a\r\nb"', "a\nb"),
        ('""', ""),
    ],
)
def test_escapes(literal: str, value: str) -> None:
    assert unquote(literal) == value


@given(st.text())
def test_quoting_is_undone_by_unquoting(value: str) -> None:
    if "\r\n" not in value:
        assert unquote(quote(value)) == value


@given(st.text())
def test_every_token_is_a_piece_of_the_text_in_order(text: str) -> None:
    position = 0
    for _, piece, start in zip(*tokenize(text), strict=True):
        assert start >= position
        assert text[start : start + len(piece)] == piece
        position = start + len(piece)


@given(st.text(alphabet='ab\\"\nt\r'), st.integers(0, 20))
def test_a_place_in_a_value_is_found_in_its_literal(text: str, index: int) -> None:
    literal = quote(text)
    value = unquote(literal)
    if index < len(value):
        offset = literal_offset(literal, index)
        assert unquote(f'"{literal[1:offset]}"') == value[:index]


@pytest.mark.parametrize("piece", ['"', "/*", "1", "1.", "-", "a-", "\\", "//x", "<", "{", '"\\'])
def test_time_is_linear(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = process_time()
    tokenize(text)
    assert process_time() - started < 2
