"""Tokens to syntax: a hand-written recursive descent over the whole grammar. Above: workflow. Below: cursor, lexer.

Grammar: reference/engine.md §1.3. What other DOT dialects allow and this one does not (§1.6) is named in the
message together with what to write instead. One run finds several problems, in time linear in the text.
"""

import re
from dataclasses import dataclass

from fabro.dot.cursor import AbandonedError, Cursor, TooManyProblemsError, resync, shown, skip_group
from fabro.dot.lexer import Token, TokenKind, is_identifier, is_key
from fabro.dot.reading import read_name, read_value
from fabro.dot.span import Source
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
    SyntaxProblem,
)

MAX_NESTING = 64
"""How deep subgraphs may stand within each other."""


_TARGETS = frozenset(DefaultsTarget)


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """The result of `parse`: a tree, or else at least one problem."""

    syntax: Syntax | None
    errors: tuple[SyntaxProblem, ...]


def parse(source: Source) -> Parsed:
    """Read a graph file. Never raises; `syntax` is None as soon as there is an error."""
    nul = source.text.find("\0")
    if nul != -1:
        problem = SyntaxProblem(
            "the file holds a NUL byte, so it is not text",
            "save the workflow as plain UTF-8 text",
            source.span(nul),
        )
        return Parsed(syntax=None, errors=(problem,))
    cursor = Cursor(source)
    syntax: Syntax | None = None
    try:
        syntax = _graph(cursor)
    except (AbandonedError, TooManyProblemsError):
        syntax = None
    return Parsed(syntax=None if cursor.problems else syntax, errors=tuple(cursor.problems))


def _graph(cursor: Cursor) -> Syntax:
    """`digraph NAME { statements }` and nothing after it."""
    name = _header(cursor)
    opening = _expect(cursor, TokenKind.OPEN_BRACE, "`{`", "write `digraph NAME { … }`")
    statements = _block(cursor, opening, depth=0)
    if not cursor.at(TokenKind.END, TokenKind.UNCLOSED_COMMENT):
        cursor.note(
            f"{shown(cursor.token)} stands after the graph's closing brace",
            "keep one graph in a file and delete what follows it",
            cursor.token,
        )
    return Syntax(name, statements, cursor.source)


def _header(cursor: Cursor) -> Name:
    """`digraph NAME`, with a message of its own for each other way that DOT files begin."""
    while cursor.at(TokenKind.HASH):
        _hash_comment(cursor)
    if cursor.text == "strict":
        cursor.note("`strict` is not supported", "delete the word `strict`", cursor.advance())
    keyword = cursor.advance()
    if keyword.text == "graph":
        cursor.note("undirected graphs are not supported", "write `digraph` and connect nodes with `->`", keyword)
    elif keyword.kind is TokenKind.END:
        cursor.note("the file holds no graph", "begin with `digraph NAME { … }`", keyword)
        raise AbandonedError
    elif keyword.text.lower() == "digraph" and keyword.text != "digraph":
        cursor.note("keywords are written in lower case", "write `digraph`", keyword)
    elif keyword.text != "digraph":
        cursor.note(
            f"expected `digraph`, found {shown(keyword)}", "begin the file with `digraph NAME { … }`", keyword
        )
        raise AbandonedError
    if cursor.at(TokenKind.OPEN_BRACE):
        cursor.note("the graph has no name", "name it: `digraph NAME {`", keyword)
        return Name("unnamed", cursor.span(keyword))
    return read_name(cursor, "a graph name")


def _block(cursor: Cursor, opening: Token, *, depth: int) -> tuple[Statement, ...]:
    """Statements up to the closing brace, which is consumed."""
    statements: list[Statement] = []
    while not cursor.at(TokenKind.CLOSE_BRACE):
        if cursor.at(TokenKind.END, TokenKind.UNCLOSED_COMMENT):
            _unfinished(cursor, opening)
        try:
            statement = _statement(cursor, depth)
        except AbandonedError:
            resync(cursor)
            continue
        if statement is not None:
            statements.append(statement)
    cursor.advance()
    return tuple(statements)


def _unfinished(cursor: Cursor, opening: Token) -> None:
    """Note that a block's closing brace is missing, and give the file up."""
    if cursor.at(TokenKind.UNCLOSED_COMMENT):
        cursor.note("this comment is never closed", "close it with `*/`", cursor.token)
    else:
        cursor.note("this `{` is never closed", "add the missing `}`", opening)
    raise TooManyProblemsError


def _statement(cursor: Cursor, depth: int) -> Statement | None:
    """One statement with its optional semicolon; None for something that is noted and skipped."""
    kind, following = cursor.kind, cursor.kind_ahead()
    if kind is TokenKind.HASH:
        _hash_comment(cursor)
        return None
    if kind is TokenKind.SEMICOLON:
        cursor.note("this `;` ends nothing", "delete it", cursor.advance())
        return None
    if following is TokenKind.OPEN_BRACKET and cursor.text in _TARGETS:
        statement: Statement = _defaults(cursor)
    elif _opens_subgraph(cursor):
        return _subgraph(cursor, depth)
    elif following is TokenKind.EQUALS and kind is TokenKind.WORD:
        statement = _assignment(cursor)
    else:
        statement = _node_or_edges(cursor)
    if cursor.kind is TokenKind.SEMICOLON:
        cursor.step()
    return statement


def _hash_comment(cursor: Cursor) -> None:
    cursor.note("`#` does not begin a comment", "begin the comment with `//`", cursor.advance())


def _opens_subgraph(cursor: Cursor) -> bool:
    if cursor.text != "subgraph":
        return False
    following = cursor.kind_ahead()
    named = following in (TokenKind.WORD, TokenKind.STRING) and cursor.kind_ahead(2) is TokenKind.OPEN_BRACE
    return following is TokenKind.OPEN_BRACE or named


def _subgraph(cursor: Cursor, depth: int) -> Subgraph | None:
    """`subgraph [NAME] { statements }`; one that is nested too deep is noted and skipped."""
    keyword = cursor.advance()
    name = None if cursor.at(TokenKind.OPEN_BRACE) else read_name(cursor, "a subgraph name")
    if depth >= MAX_NESTING:
        cursor.note(f"subgraphs are nested more than {MAX_NESTING} deep", "flatten the inner subgraphs", keyword)
        skip_group(cursor)
        return None
    opening = cursor.advance()
    statements = _block(cursor, opening, depth=depth + 1)
    if cursor.at(TokenKind.ARROW):
        _no_groups(cursor, keyword)
    return Subgraph(name, statements, cursor.span(keyword))


def _no_groups(cursor: Cursor, token: Token) -> None:
    cursor.note(
        "an edge can't begin or end at a group of nodes", "write one edge for each node of the group", token
    )
    raise AbandonedError


def _defaults(cursor: Cursor) -> Defaults:
    keyword = cursor.advance()
    return Defaults(DefaultsTarget(keyword.text), _attributes(cursor), cursor.span(keyword))


def _assignment(cursor: Cursor) -> Assignment:
    key = cursor.advance()
    cursor.advance()
    if not is_identifier(key.text):
        cursor.note(
            f"{shown(key)} can't be set by a statement of its own",
            f"write it in brackets: `graph [{key.text} = …]`" if is_key(key.text) else "use letters, digits and _",
            key,
        )
    return Assignment(Attribute(key.text, read_value(cursor), cursor.span(key)))


def _node_or_edges(cursor: Cursor) -> NodeStatement | EdgeStatement:
    """A node, or a chain of edges, with at most one block of attributes."""
    chain = [_endpoint(cursor)]
    while cursor.at(TokenKind.ARROW, TokenKind.UNDIRECTED):
        arrow = cursor.advance()
        if arrow.kind is TokenKind.UNDIRECTED:
            cursor.note("`--` is not supported", "connect nodes with `->`", arrow)
        chain.append(_endpoint(cursor))
    attributes = _attributes(cursor) if cursor.at(TokenKind.OPEN_BRACKET) else ()
    return NodeStatement(chain[0], attributes) if len(chain) == 1 else EdgeStatement(tuple(chain), attributes)


def _endpoint(cursor: Cursor) -> Name:
    """A node's name; groups are refused as a whole."""
    if cursor.at(TokenKind.OPEN_BRACE) or _opens_subgraph(cursor):
        first = cursor.token
        while not cursor.at(TokenKind.OPEN_BRACE):
            cursor.advance()
        skip_group(cursor)
        _no_groups(cursor, first)
    name = read_name(cursor, "a node")
    if cursor.at(TokenKind.COLON):
        cursor.note("ports are not supported", "delete the `:` and what follows it", cursor.token)
        while cursor.at(TokenKind.COLON):
            cursor.advance()
            cursor.advance()
    return name


def _attributes(cursor: Cursor) -> tuple[Attribute, ...]:
    """`[key=value, …]`; a further block is noted and skipped."""
    found: list[Attribute] = []
    opening = cursor.advance()
    while cursor.kind is not TokenKind.CLOSE_BRACKET:
        if not _attribute(cursor, opening, found):
            return tuple(found)
        if cursor.at(TokenKind.COMMA, TokenKind.SEMICOLON):
            cursor.step()
    cursor.advance()
    if cursor.at(TokenKind.OPEN_BRACKET):
        cursor.note("a statement takes one block of attributes", "join the two blocks into one", cursor.token)
        while cursor.at(TokenKind.OPEN_BRACKET):
            skip_group(cursor)
    return tuple(found)


def _attribute(cursor: Cursor, opening: Token, found: list[Attribute]) -> bool:
    """Read one attribute into `found`; False when the block turns out to be unclosed."""
    kind, text = cursor.kind, cursor.text
    if kind is TokenKind.HASH:
        _hash_comment(cursor)
        return True
    if kind not in (TokenKind.WORD, TokenKind.STRING) or _begins_statement(cursor):
        return _unclosed_or_unexpected(cursor, opening)
    span = cursor.place()
    if kind is TokenKind.STRING or not is_key(text):
        text = _odd_key(cursor)
    elif cursor.kind_ahead() is not TokenKind.EQUALS:
        cursor.note(f"attribute `{text}` has no value", f"write `{text}=…`", cursor.token)
    cursor.step()
    if cursor.kind is TokenKind.EQUALS:
        cursor.step()
        found.append(Attribute(text, read_value(cursor), span))
    return True


def _odd_key(cursor: Cursor) -> str:
    """Note that the token at hand can't be a key, and give the key that it could be."""
    token = cursor.token
    plain = re.sub(r"[^A-Za-z0-9_.]", "_", token.text.strip('"'))
    cursor.note(f"{shown(token)} can't be an attribute's name", f"write it plainly: `{plain}=…`", token)
    return plain


def _begins_statement(cursor: Cursor) -> bool:
    """Whether the word at hand is already the next statement, so that a `]` is missing before it."""
    return cursor.kind_ahead() in (TokenKind.ARROW, TokenKind.OPEN_BRACKET, TokenKind.OPEN_BRACE, TokenKind.COLON)


def _unclosed_or_unexpected(cursor: Cursor, opening: Token) -> bool:
    """Note a missing `]`, or else skip what has no place in a block of attributes."""
    token = cursor.token
    if token.kind in (TokenKind.END, TokenKind.CLOSE_BRACE, TokenKind.WORD, TokenKind.STRING):
        cursor.note("this `[` is never closed", f"add `]` before {shown(token)}", opening)
        return False
    cursor.note(f"expected an attribute, found {shown(token)}", "write `[key=value, …]`", token)
    if token.kind in (TokenKind.OPEN_BRACE, TokenKind.OPEN_BRACKET):
        skip_group(cursor)
    else:
        cursor.advance()
    return True


def _expect(cursor: Cursor, kind: TokenKind, wanted: str, fix: str) -> Token:
    if not cursor.at(kind):
        cursor.note(f"expected {wanted}, found {shown(cursor.token)}", fix, cursor.token)
        raise AbandonedError
    return cursor.advance()
