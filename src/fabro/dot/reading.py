"""Names and values, with a message for each form that is not allowed. Above: parser. Below: cursor, lexer."""

import re

from fabro.dot.cursor import AbandonedError, Cursor, shown
from fabro.dot.lexer import Token, TokenKind, is_identifier, unquote
from fabro.dot.syntax import Name, Value, ValueKind

_MAX_INTEGER = 2**63
_KINDS = {
    TokenKind.STRING: ValueKind.STRING,
    TokenKind.DURATION: ValueKind.DURATION,
    TokenKind.FLOAT: ValueKind.FLOAT,
    TokenKind.INTEGER: ValueKind.INTEGER,
    TokenKind.WORD: ValueKind.WORD,
}
_NUMBERS = (TokenKind.DURATION, TokenKind.FLOAT, TokenKind.INTEGER, TokenKind.BAD_NUMBER)
_AFTER_VALUE = (TokenKind.COMMA, TokenKind.SEMICOLON, TokenKind.CLOSE_BRACKET, TokenKind.CLOSE_BRACE)
_GLUED = (
    TokenKind.WORD,
    TokenKind.COLON,
    TokenKind.OTHER,
    TokenKind.BAD_NUMBER,
    TokenKind.UNDIRECTED,
    TokenKind.ANGLE,
    *_KINDS,
)


def read_name(cursor: Cursor, wanted: str) -> Name:
    """An identifier. One that is quoted, numeric or hyphenated is noted, and read as the plain name it could be.

    Raises:
        AbandonedError: what stands there is no name at all.
    """
    if cursor.kind is TokenKind.WORD and is_identifier(cursor.text):
        name = Name(cursor.text, cursor.place())
        cursor.step()
        return name
    token = cursor.token
    if token.kind is TokenKind.STRING:
        return _refused_name(cursor, cursor.advance(), unquote(token.text), "quoted names are not supported")
    if token.kind is TokenKind.WORD or token.kind in _NUMBERS:
        return _odd_name(cursor)
    fixes = {
        TokenKind.UNCLOSED_STRING: ("this string is never closed", 'close it with `"`'),
        TokenKind.ARROW: (f"expected {wanted}, found `->`", "name the node that the edge leaves from"),
        TokenKind.OPEN_BRACKET: (f"expected {wanted}, found `[`", "write the node before its attributes"),
    }
    message, fix = fixes.get(token.kind, (f"expected {wanted}, found {shown(token)}", f"write {wanted} here"))
    cursor.note(message, fix, token)
    if not cursor.at(TokenKind.CLOSE_BRACE, TokenKind.OPEN_BRACE, TokenKind.OPEN_BRACKET):
        cursor.advance()
    raise AbandonedError


def _odd_name(cursor: Cursor) -> Name:
    """A number, or a word with hyphens or dots, with what is glued to it."""
    first = cursor.advance()
    text = first.text
    while cursor.touches(TokenKind.WORD, TokenKind.INTEGER, TokenKind.FLOAT):
        text += cursor.advance().text
    if "--" in text:
        cursor.note("`--` is not supported", "connect nodes with `->`", first)
        return Name(_plain(text), cursor.span(first))
    reason = "can't begin with a digit" if first.kind is not TokenKind.WORD else "can't hold `-` or `.`"
    return _refused_name(cursor, first, text, f"names {reason}")


def _refused_name(cursor: Cursor, token: Token, text: str, message: str) -> Name:
    plain = _plain(text)
    cursor.note(message, f"write `{plain}`; the text to show goes into its `label`", token)
    return Name(plain, cursor.span(token))


def _plain(text: str) -> str:
    """The identifier that comes nearest to `text`."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", text[:60]).strip("_")
    return words if is_identifier(words) else f"n_{words}"


def read_value(cursor: Cursor) -> Value:
    """A value.

    Raises:
        AbandonedError: there is none; a value that is merely written wrongly is noted and read on.
    """
    if cursor.kind is TokenKind.ANGLE:
        return _html(cursor)
    kind = _KINDS.get(cursor.kind)
    if kind is None:
        _no_value(cursor, cursor.token)
        raise AbandonedError
    text = cursor.text
    value = Value(kind, unquote(text) if kind is ValueKind.STRING else text, cursor.place())
    token = cursor.advance()
    if kind is ValueKind.INTEGER and not -_MAX_INTEGER <= _bounded_integer(text) < _MAX_INTEGER:
        cursor.note("the number does not fit into 64 bits", "use a smaller number", token)
    if cursor.kind is TokenKind.PLUS:
        _concatenation(cursor)
    elif kind is not ValueKind.STRING and _is_glued(cursor):
        _needs_quotes(cursor, token)
    return value


def _bounded_integer(text: str) -> int:
    """The number, or one that is too large where the text alone shows it."""
    return int(text) if len(text) <= 20 else _MAX_INTEGER


def _no_value(cursor: Cursor, token: Token) -> None:
    if token.kind is TokenKind.UNCLOSED_STRING:
        cursor.note("this string is never closed", 'close it with `"`', cursor.advance())
    elif token.kind is TokenKind.BAD_NUMBER:
        cursor.note(f"{shown(token)} is not a number", "write digits after the point", cursor.advance())
    else:
        cursor.note(
            f"expected a value, found {shown(token)}", 'write a value, in quotes if it is text: `"…"`', token
        )
        if not cursor.at(TokenKind.CLOSE_BRACE, TokenKind.CLOSE_BRACKET):
            cursor.advance()


def _is_glued(cursor: Cursor) -> bool:
    """Whether more of the same value follows without a gap, so that quotes are missing around it."""
    if cursor.touches(TokenKind.WORD) and cursor.kind_ahead() is TokenKind.EQUALS:
        return False
    return cursor.touches(*_GLUED)


def _needs_quotes(cursor: Cursor, first: Token) -> None:
    last = first
    while cursor.touches(*_GLUED):
        last = cursor.advance()
    written = cursor.source.text[first.start : last.end]
    cursor.note("this value needs quotes", f'write "{written[:60]}"', first._replace(text=written))


def _html(cursor: Cursor) -> Value:
    """Note an HTML label and skip it up to its balanced `>`."""
    opening = cursor.token
    cursor.note("HTML labels are not supported", 'write the label as text in quotes: `"…"`', opening)
    depth = 0
    while not cursor.at(TokenKind.END):
        token = cursor.advance()
        depth += (token.kind is TokenKind.ANGLE) - (token.text in {">", "->"})
        if depth <= 0 and cursor.at(*_AFTER_VALUE):
            break
    return Value(ValueKind.STRING, "", cursor.span(opening))


def _concatenation(cursor: Cursor) -> None:
    cursor.note("strings can't be joined with `+`", "write one string; it may span lines", cursor.token)
    while cursor.at(TokenKind.PLUS):
        cursor.advance()
        if cursor.at(*_KINDS):
            cursor.advance()
