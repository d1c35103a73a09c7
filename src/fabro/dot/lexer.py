"""Text to tokens, in one pass of one regular expression. Above: parser. Below: span.

Lexical rules: reference/engine.md §1.2 and §1.4. A word may hold hyphens and dots here, because bare values do;
the parser refuses them where only an identifier will do.
"""

import re
from enum import Enum, auto
from typing import NamedTuple


class TokenKind(Enum):
    """What a token is. The kinds from HASH on are never valid; each exists for the sake of its message."""

    WORD = auto()
    STRING = auto()
    DURATION = auto()
    FLOAT = auto()
    INTEGER = auto()
    ARROW = auto()
    OPEN_BRACE = auto()
    CLOSE_BRACE = auto()
    OPEN_BRACKET = auto()
    CLOSE_BRACKET = auto()
    EQUALS = auto()
    COMMA = auto()
    SEMICOLON = auto()
    END = auto()
    HASH = auto()
    BAD_NUMBER = auto()
    UNDIRECTED = auto()
    COLON = auto()
    ANGLE = auto()
    PLUS = auto()
    UNCLOSED_COMMENT = auto()
    UNCLOSED_STRING = auto()
    OTHER = auto()


class Token(NamedTuple):
    """A piece of the text and where it begins; a string's text includes its quotes."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


# No group is possessive: the first releases of Python 3.11 do not give back the end of one that failed half way.
_TOKENS = re.compile(
    r"""
      (?P<SKIP> \s+ | //[^\n]* | /\*(?s:.*?)\*/ )
    | (?P<WORD> [A-Za-z_] (?: [A-Za-z0-9_.] | -(?!>) )* )
    | (?P<STRING> "[^"\\]*(?:\\(?s:.)[^"\\]*)*" )
    | (?P<DURATION> -?[0-9]++(?:ms|[smhd])(?![A-Za-z0-9]) )
    | (?P<FLOAT> -?[0-9]*+\.[0-9]++ )
    | (?P<INTEGER> -?[0-9]++(?!\.) )
    | (?P<ARROW> -> )
    | (?P<OPEN_BRACE> \{ ) | (?P<CLOSE_BRACE> \} ) | (?P<OPEN_BRACKET> \[ ) | (?P<CLOSE_BRACKET> \] )
    | (?P<EQUALS> = ) | (?P<COMMA> , ) | (?P<SEMICOLON> ; )
    | (?P<HASH> \#[^\n]* )
    | (?P<BAD_NUMBER> -?[0-9]++\. )
    | (?P<UNDIRECTED> -- ) | (?P<COLON> : ) | (?P<ANGLE> < ) | (?P<PLUS> \+ )
    | (?P<UNCLOSED_COMMENT> /\*(?s:.*) ) | (?P<UNCLOSED_STRING> "(?s:.*) )
    | (?P<OTHER> (?s:.) )
    """,
    re.VERBOSE,
)
_KINDS = {kind.name: kind for kind in TokenKind}
END_TOKENS = 3
"""So many that a look at the next two tokens never goes past the lists."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}


class Tokens(NamedTuple):
    """All tokens of a text, in three lists of one length: making an object for each would take most of the time."""

    kinds: list[TokenKind]
    texts: list[str]
    starts: list[int]


def tokenize(text: str) -> Tokens:
    """The tokens of `text`, without white space and comments, closed by `END_TOKENS` tokens of kind END."""
    kinds: list[TokenKind] = []
    texts: list[str] = []
    starts: list[int] = []
    for match in _TOKENS.finditer(text):
        kind = _KINDS.get(match.lastgroup or "")
        if kind is not None:
            kinds.append(kind)
            texts.append(match[0])
            starts.append(match.start())
    kinds.extend([TokenKind.END] * END_TOKENS)
    texts.extend([""] * END_TOKENS)
    starts.extend([len(text)] * END_TOKENS)
    return Tokens(kinds, texts, starts)


def is_identifier(text: str) -> bool:
    """Whether `text` may name a node or a graph."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether `text` may name an attribute: identifiers joined by dots."""
    return _KEY.fullmatch(text) is not None


def unquote(literal: str) -> str:
    """The value of a quoted string; a CRLF counts as a line feed, an unknown escape keeps both characters."""
    body = literal[1:-1].replace("\r\n", "\n")
    if "\\" not in body:
        return body
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), body)


def quote(value: str) -> str:
    """The quoted string whose value is `value`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def literal_offset(literal: str, index: int) -> int:
    """Where in a quoted string, quotes included, the character `index` of its value is written."""
    position, value_index = 1, 0
    while value_index < index and position < len(literal) - 1:
        pair = literal[position : position + 2]
        is_escape = pair[:1] == "\\" and len(pair) == 2
        value_index += 1 if not is_escape or pair[1] in _ESCAPED else 2
        position += 2 if is_escape or pair == "\r\n" else 1
    return position
