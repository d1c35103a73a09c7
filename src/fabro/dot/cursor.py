"""A place in the tokens, and what went wrong so far. Above: parser. Below: lexer, span, syntax."""

from fabro.dot.lexer import END_TOKENS, Token, TokenKind, tokenize
from fabro.dot.span import Source, Span
from fabro.dot.syntax import SyntaxProblem

MAX_PROBLEMS = 50
"""After this many problems a file is not read further."""

_SHOWN = 30
_OPENERS = (TokenKind.OPEN_BRACE, TokenKind.OPEN_BRACKET)
_CLOSERS = (TokenKind.CLOSE_BRACE, TokenKind.CLOSE_BRACKET)


class AbandonedError(Exception):
    """The construct can't be read; its problem is already noted. Never leaves the parser."""


class TooManyProblemsError(Exception):
    """The list of problems is full. Never leaves the parser."""


class Cursor:
    """Reads tokens one by one and collects problems."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[SyntaxProblem] = []
        self._kinds, self._texts, self._starts = tokenize(source.text)
        self._last = len(self._kinds) - END_TOKENS
        self._index = 0

    @property
    def token(self) -> Token:
        """The token at hand."""
        index = self._index
        return Token(self._kinds[index], self._texts[index], self._starts[index])

    @property
    def kind(self) -> TokenKind:
        """The kind of the token at hand."""
        return self._kinds[self._index]

    @property
    def text(self) -> str:
        """The text of the token at hand."""
        return self._texts[self._index]

    def kind_ahead(self, count: int = 1) -> TokenKind:
        """The kind of the token one or two places on."""
        return self._kinds[self._index + count]

    def at(self, *kinds: TokenKind) -> bool:
        """Whether the token at hand is of one of `kinds`."""
        return self._kinds[self._index] in kinds

    def touches(self, *kinds: TokenKind) -> bool:
        """Whether the token at hand is of one of `kinds` and follows the one before without a gap."""
        return self.at(*kinds) and self._index > 0 and self._end_before() == self._starts[self._index]

    def place(self) -> Span:
        """Where the token at hand stands."""
        start = self._starts[self._index]
        return self.source.span(start, start + len(self._texts[self._index]))

    def step(self) -> None:
        """Leave the token at hand behind; END stays."""
        if self._index < self._last:
            self._index += 1

    def advance(self) -> Token:
        """The token at hand, which is then left behind; END stays."""
        token = self.token
        self.step()
        return token

    def _end_before(self) -> int:
        """Where the token before the one at hand ends."""
        return self._starts[self._index - 1] + len(self._texts[self._index - 1]) if self._index else 0

    def span(self, first: Token, last: Token | None = None) -> Span:
        """From the start of `first` to the end of `last`."""
        return self.source.span(first.start, (last or first).end)

    def note(self, message: str, fix: str, token: Token) -> None:
        """Record a problem at `token`.

        Raises:
            TooManyProblemsError: this was the last one that fits.
        """
        shown_length = max(1, len(token.text.partition("\n")[0]))
        span = self.source.span(token.start, token.start + shown_length)
        self.problems.append(SyntaxProblem(message, fix, span))
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooManyProblemsError

    def starts_line(self) -> bool:
        """Whether the token at hand is the first of its line."""
        return self.source.text.find("\n", self._end_before(), self._starts[self._index]) != -1


def skip_group(cursor: Cursor) -> None:
    """Leave the bracketed group that opens at hand behind, with everything in it."""
    depth = 0
    while not cursor.at(TokenKind.END):
        kind = cursor.kind
        cursor.step()
        depth += (kind in _OPENERS) - (kind in _CLOSERS)
        if depth <= 0:
            return


def resync(cursor: Cursor) -> None:
    """Go on to where a statement may begin: behind a `;`, at a `}`, or at a word that starts a line."""
    while not cursor.at(TokenKind.END, TokenKind.CLOSE_BRACE):
        if cursor.at(TokenKind.WORD, TokenKind.STRING) and cursor.starts_line():
            return
        if cursor.at(*_OPENERS):
            skip_group(cursor)
        elif cursor.advance().kind is TokenKind.SEMICOLON:
            return


def shown(token: Token) -> str:
    """A token as messages name it."""
    if token.kind is TokenKind.END:
        return "the end of the file"
    text = token.text if len(token.text) <= _SHOWN else token.text[: _SHOWN - 1] + "…"
    return f"`{text}`" if text.isprintable() else repr(text)
