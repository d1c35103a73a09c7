"""The template language: Jinja's syntax, cut down to what is bounded. Above: template. Below: nothing.

Allowed are text, variables, `if`, `for`, `set`, literal `include`, `raw`, comparisons, arithmetic, `range` and the
filters below. Macros, inheritance, method calls and attribute access into Python are not. Every loop pass, filter
and included file is counted, and every value is limited in size, so that rendering ends soon whatever is written.
"""

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, cast

from jinja2 import BaseLoader, Environment, StrictUndefined, Template, TemplateNotFound, nodes
from jinja2.exceptions import TemplateRuntimeError, TemplateSyntaxError
from jinja2.filters import FILTERS
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fabro.errors import InvalidInput
from fabro.workflow.paths import resolve_reference

MAX_OUTPUT = 1024 * 1024
"""Longest rendered text, and longest text on the way to it, in characters."""
MAX_STEPS = 200_000
"""How many parts of a template one rendering may pass."""
MAX_DEPTH = 64
"""How deep the parts of a template may stand within each other."""
MAX_ITEMS = 10_000
"""Longest list or range."""

Scalar: TypeAlias = str | int | float | bool | None

_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Test, nodes.If, nodes.For, nodes.Assign, nodes.Include, nodes.Compare,
    nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair,
    nodes.Keyword, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos,
    nodes.Concat, nodes.Call,
)  # fmt: skip
_PLAIN_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "first", "float", "int", "last", "length", "list", "lower",
    "reverse", "round", "sort", "string", "title", "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip


class LimitError(TemplateRuntimeError):
    """The rendering went over a limit, or did something that the language does not have."""


class Namespace(dict[str, Scalar]):
    """`inputs` or `vars`: a mapping that knows its own name, for messages."""

    def __init__(self, name: str, values: Mapping[str, Scalar]) -> None:
        super().__init__(values)
        self.name = name


def parse_template(environment: Environment, text: str, name: str) -> nodes.Template:
    """The template's tree, if it stays within the language.

    Raises:
        TemplateSyntaxError: it does not; `lineno` says where.
    """
    try:
        tree = environment.parse(text, name)
    except RecursionError:
        raise TemplateSyntaxError("the expression is nested too deep", 1, name) from None
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise TemplateSyntaxError(f"the template is nested more than {MAX_DEPTH} deep", node.lineno, name)
        _check(node, name)
        # `range` is looked at with its call, and is no value by itself
        parts = (*node.args, *node.kwargs) if isinstance(node, nodes.Call) else node.iter_child_nodes()
        waiting.extend((part, depth + 1) for part in parts)
    return tree


def _check(node: nodes.Node, name: str) -> None:
    """Refuse what the language leaves out."""
    reason = None
    if not isinstance(node, _ALLOWED):
        reason = f"`{type(node).__name__.lower()}` is not part of the template language"
    elif isinstance(node, nodes.Call) and not (isinstance(node.node, nodes.Name) and node.node.name == "range"):
        reason = "calls are not part of the template language"
    elif isinstance(node, nodes.Name) and node.name == "range":
        reason = "`range` is a function: write `range(3)`"
    elif isinstance(node, nodes.For) and node.recursive:
        reason = "recursive loops are not part of the template language"
    elif isinstance(node, nodes.Filter) and node.name not in _PLAIN_FILTERS and node.name not in _BOUNDED_FILTERS:
        reason = f"there is no filter `{node.name}`"
    elif isinstance(node, nodes.Include) and not isinstance(node.template, nodes.Const):
        reason = "`include` takes a literal file name"
    if reason is not None:
        raise TemplateSyntaxError(reason, node.lineno, name)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """One rendering: its files and its counters. Make a new one for each text."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self, files: Mapping[str, str], prepare: Callable[[str], str]) -> None:
        loader = _Files(files, prepare)
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, finalize=_shown, loader=loader)
        self.steps = 0
        self.globals = {"range": self.short_range}
        self.filters = {name: self._counted(FILTERS[name]) for name in _PLAIN_FILTERS}
        self.filters |= {name: self._counted(function) for name, function in _BOUNDED_FILTERS.items()}

    def compiled(self, tree: nodes.Template, name: str) -> Template:
        """A template whose loops, values and inclusions are counted."""
        code = self.compile(_bound(tree), name, name)
        return Template.from_code(self, code, self.make_globals(None), None)

    def join_path(self, template: str, parent: str) -> str:
        """Includes are relative to the file that holds them."""
        try:
            return resolve_reference(parent, template)
        except InvalidInput:
            raise TemplateNotFound(template) from None

    def is_safe_callable(self, obj: object) -> bool:
        """Only what this class itself offers."""
        return obj in (self.short_range, self.count, self.counted, self.checked, self.joined)

    def getattr(self, obj: object, attribute: str) -> object:
        """A value of a namespace; the attributes of anything else as the sandbox allows."""
        return _item(self, obj, attribute) if isinstance(obj, Namespace) else super().getattr(obj, attribute)

    def getitem(self, obj: object, argument: str | int) -> object:
        """An item, as `getattr`."""
        return _item(self, obj, str(argument)) if isinstance(obj, Namespace) else super().getitem(obj, argument)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Arithmetic on numbers of ordinary size, and `+` on texts."""
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            return self.joined(left, right)
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise LimitError(f"`{operator}` takes numbers")
        return self.checked(super().call_binop(context, operator, left, right))

    def count(self, steps: int) -> str:
        """Count some steps.

        Raises:
            LimitError: it was too many.
        """
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise LimitError(f"the template takes more than {MAX_STEPS} steps")
        return ""

    def counted(self, items: Iterable[object], steps: int) -> Iterator[object]:
        """The items of a loop, each of which costs `steps`."""
        for item in items:
            self.count(steps)
            yield item

    def short_range(self, *arguments: int) -> range:
        """`range` up to `MAX_ITEMS`."""
        numbers = range(*arguments)
        if len(numbers) > MAX_ITEMS:
            raise LimitError(f"a range may have {MAX_ITEMS} items")
        return numbers

    def joined(self, *parts: object) -> str:
        """`~`: the parts as one text."""
        return str(self.checked("".join(str(_shown(part)) for part in parts)))

    def checked(self, value: object) -> object:
        """A value that may be kept: a scalar of bounded size, or a list or mapping of such."""
        if isinstance(value, Undefined):
            return value
        if isinstance(value, list | tuple | dict):
            items = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
            if all(_is_small(item) for item in items):
                return cast("object", value)
        elif _is_small(value):
            return value
        raise LimitError("the value is too large, or holds lists within lists")

    def _counted(self, function: Callable[..., object]) -> Callable[..., object]:
        """A filter that costs a step and more for a long text."""

        @functools.wraps(function)
        def counted(*arguments: object, **named: object) -> object:
            self.count(1 + sum(len(argument) for argument in arguments if isinstance(argument, str)) // 64)
            return function(*arguments, **named)

        return counted


class _Files(BaseLoader):
    """Templates from the files of a version."""

    def __init__(self, files: Mapping[str, str], prepare: Callable[[str], str]) -> None:
        self._files = files
        self._prepare = prepare

    def load(self, environment: Environment, name: str, globals: object = None) -> Template:  # noqa: A002, ARG002 - Jinja's
        if name not in self._files or not isinstance(environment, BoundedEnvironment):
            raise TemplateNotFound(name)
        tree = parse_template(environment, self._prepare(self._files[name]), name)
        return environment.compiled(tree, name)


def _bound(tree: nodes.Template) -> nodes.Template:
    """The tree with a counter in each loop and file, and checks on joined and kept values."""
    for loop in tree.find_all(nodes.For):
        weight = nodes.Const(1 + sum(1 for _ in loop.find_all(nodes.Node)))
        loop.iter = _call("counted", cast("nodes.Expr", loop.iter), weight)
    for assignment in tree.find_all(nodes.Assign):
        assignment.node = _call("checked", cast("nodes.Expr", assignment.node))
    counter = nodes.Output([_call("count", nodes.Const(1 + len(tree.body)))])
    bounded = nodes.Template([counter, *tree.body], lineno=1)
    bounded.set_environment(cast("Environment", tree.environment))
    return bounded


def _call(method: str, *arguments: nodes.Expr) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(method), list(arguments), [], None, None, lineno=1)


def _item(environment: Environment, values: Namespace, name: str) -> object:
    return values[name] if name in values else environment.undefined(hint=f"{values.name}.{name}", name=name)


def _shown(value: object) -> object:
    """A scalar as text shows it; lists and mappings have no text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str | int | float | Undefined):
        return "none" if value is None else value
    raise LimitError("only texts, numbers and flags can be shown; give a list to `join`")


def _is_small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_OUTPUT
    return value is None or (isinstance(value, int | float) and abs(value) < 2**63)


def _join(items: Iterable[object], separator: str = "") -> str:
    texts = [str(_shown(item)) for item in itertools.islice(items, MAX_ITEMS)]
    _fits(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replace(text: str, old: str, new: str) -> str:
    _fits(len(text) + str(text).count(old) * len(new))
    return str(text).replace(old, new)


def _indent(text: str, width: int = 4) -> str:
    _fits(len(text) + text.count("\n") * width)
    return text.replace("\n", "\n" + " " * width)


def _tojson(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fits(length: int) -> None:
    if length > MAX_OUTPUT:
        raise LimitError(f"a text may have {MAX_OUTPUT} characters")


_BOUNDED_FILTERS: Mapping[str, Callable[..., object]] = {
    "join": _join,
    "replace": _replace,
    "indent": _indent,
    "tojson": _tojson,
}
