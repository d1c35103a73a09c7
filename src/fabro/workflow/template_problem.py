"""What can be wrong in a template, and where. Above: template, script. Below: nothing."""

import re

_TAG = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)


class TemplateProblem(Exception):
    """A finding: the rule, what is wrong, how to mend it, and where.

    `file` is the file that holds it: the template's own name or an included one. `index` and `length` are in
    that file's text, in characters.
    """

    def __init__(self, rule: str, message: str, fix: str, place: "Place") -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.fix = fix
        self.place = place


class Place:
    """Some characters of a file."""

    def __init__(self, file: str, index: int = 0, length: int = 1) -> None:
        self.file = file
        self.index = index
        self.length = length


def line_place(text: str, file: str, number: int) -> Place:
    """The first tag of line `number` (from 1), or the line's beginning."""
    lines = text.split("\n")
    number = min(max(number, 1), len(lines))
    start = sum(len(line) + 1 for line in lines[: number - 1])
    tag = re.search(r"\{[{%#]", lines[number - 1])
    return Place(file, start + (tag.start() if tag else 0), 2 if tag else 1)


def find_expression(text: str, file: str, expression: str) -> Place | None:
    """The first place within a tag where `name` or `name.attribute` stands; None if it stands nowhere."""
    root, _, attribute = expression.partition(".")
    pattern = rf"(?<![\w.]){re.escape(root)}"
    if attribute:
        word = re.escape(attribute)
        pattern += rf"(?:\s*\.\s*{word}(?![\w-])|\s*\[\s*['\"]{word}['\"]\s*\])"
    else:
        pattern += r"(?!\w)"
    return _find(text, file, pattern)


def find_reference(text: str, file: str, name: str) -> Place | None:
    """The first place within a tag where a file's name stands."""
    return _find(text, file, re.escape(name))


def _find(text: str, file: str, pattern: str) -> Place | None:
    for tag in _TAG.finditer(text):
        found = re.search(pattern, tag[0])
        if found:
            return Place(file, tag.start() + found.start(), found.end() - found.start())
    return None
