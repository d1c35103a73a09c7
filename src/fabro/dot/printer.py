"""Syntax to text: one canonical way to write a graph. Above: tests, `fabro graph`. Below: syntax, lexer.

`parse(print_syntax(x))` equals `x` but for the spans.
"""

from fabro.dot.lexer import quote
from fabro.dot.syntax import (
    Assignment,
    Attribute,
    Defaults,
    EdgeStatement,
    NodeStatement,
    Statement,
    Subgraph,
    Syntax,
    Value,
    ValueKind,
)


def print_syntax(syntax: Syntax) -> str:
    """The graph with one statement to a line, two spaces of indentation and semicolons."""
    return "".join([f"digraph {syntax.name.text} {{\n", *_lines(syntax.statements, "  "), "}\n"])


def _lines(statements: tuple[Statement, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for statement in statements:
        if isinstance(statement, Subgraph):
            name = f"{statement.name.text} " if statement.name else ""
            lines.append(f"{indent}subgraph {name}{{\n")
            lines.extend(_lines(statement.statements, indent + "  "))
            lines.append(f"{indent}}}\n")
        else:
            lines.append(f"{indent}{_simple(statement)};\n")
    return lines


def _simple(statement: Defaults | Assignment | NodeStatement | EdgeStatement) -> str:
    match statement:
        case Defaults(target=target, attributes=attributes):
            return f"{target} [{_attributes(attributes)}]"
        case Assignment(attribute=attribute):
            return _attributes((attribute,))
        case NodeStatement(name=name, attributes=attributes):
            return name.text + _bracketed(attributes)
        case EdgeStatement(chain=chain, attributes=attributes):
            return " -> ".join(name.text for name in chain) + _bracketed(attributes)


def _bracketed(attributes: tuple[Attribute, ...]) -> str:
    return f" [{_attributes(attributes)}]" if attributes else ""


def _attributes(attributes: tuple[Attribute, ...]) -> str:
    return ", ".join(f"{attribute.key}={_value(attribute.value)}" for attribute in attributes)


def _value(value: Value) -> str:
    return quote(value.text) if value.kind is ValueKind.STRING else value.text
