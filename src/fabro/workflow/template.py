"""Goals and prompts as templates: checked before a run, rendered for it. Above: load, bind, package.
Below: template_language, template_problem, paths.

Rules: reference/engine.md §1.8. In scope are `goal` (in prompts), `inputs.*` and `vars.*`, nothing else. A prompt's
`$goal` is read as `{{ goal }}` (design §4.10).
"""

import re
from collections.abc import Iterator, Mapping

from jinja2 import meta, nodes
from jinja2.exceptions import TemplateError, TemplateNotFound, TemplateSyntaxError, UndefinedError

from fabro.errors import InvalidInput
from fabro.workflow.paths import resolve_reference
from fabro.workflow.template_language import (
    MAX_OUTPUT,
    BoundedEnvironment,
    LimitError,
    Namespace,
    Scalar,
    parse_template,
)
from fabro.workflow.template_problem import Place, TemplateProblem, find_expression, find_reference, line_place
from fabro.workflow.tokens import Values, undefined, value_of
from fabro.workflow.values import value_text

_MARKS = re.compile(r"\{[{%#]")
_OLD_GOAL = re.compile(r"\$goal\b")
_PLAIN_TAG = (
    r"\{\{\s*+(?:(?P<goal>goal)|inputs\.(?P<input>[A-Za-z_][A-Za-z0-9_]*+)|vars\.(?P<variable>[A-Za-z_][A-Za-z0-9_]*+))"
    r"\s*+\}\}"
)
_TOKEN = re.compile(_PLAIN_TAG)
_PLAIN = re.compile(r"(?:[^{]++|\{(?![{%#])|" + re.sub(r"\?P<\w+>", "?:", _PLAIN_TAG) + ")*")
"""A text without template syntax, or with plain variables alone: nothing to parse, which saves most of the time."""
_ROOTS = frozenset({"goal", "inputs", "vars", "range"})
_DEFAULTS = frozenset({"default", "d"})
_UNDEFINED = re.compile(r"'([^']+)' is undefined")


def has_marks(text: str) -> bool:
    """Whether a text holds any template syntax."""
    return _MARKS.search(text) is not None


def find_old_goal(text: str) -> int | None:
    """Where a prompt first says `$goal`."""
    found = _OLD_GOAL.search(text)
    return found.start() if found else None


def references(text: str, name: str) -> tuple[str, ...]:
    """The paths that a template includes, in order, each once.

    Raises:
        TemplateProblem: the text is no template, or a path leaves the workflow's folder.
    """
    return tuple(_included(_parse(text, name), text, name)) if has_marks(text) else ()


def check(text: str, name: str, files: Mapping[str, str], *, is_goal: bool) -> None:
    """Find what is wrong with a template and all that it includes, before its values are known.

    Raises:
        TemplateProblem: the first problem.
    """
    if not is_goal and _PLAIN.fullmatch(text):
        return
    if has_marks(text):
        for file, part, tree in _closure(text, name, files, chain=(), done=set()):
            _check_names(tree, part, file, is_goal=is_goal)


def render(text: str, name: str, files: Mapping[str, str], values: Values) -> str:
    """The text with its variables filled in. Values are inserted as they are, and never read as templates.

    Raises:
        TemplateProblem: a variable is undefined (`template_undefined_variable`), or the template goes wrong.
    """
    prepare = _unchanged if values.goal is None else _modern
    prepared = prepare(text)
    if prepared == text and _PLAIN.fullmatch(text):
        return _TOKEN.sub(lambda token: value_text(value_of(token, name, values)), prepared)
    environment = BoundedEnvironment(files, prepare)
    try:
        return _collect(environment, parse_template(environment, prepared, name), name, values)
    except UndefinedError as error:
        raise _undefined(error, text, name, files) from None
    except TemplateSyntaxError as error:
        raise _syntax_problem(error, text, name) from None
    except (TemplateError, SyntaxError, RecursionError, ArithmeticError, TypeError, ValueError) as error:
        raise _failure(error, text, name) from None


def _scope(values: Values) -> Mapping[str, object]:
    """The names that a template sees."""
    inputs: dict[str, Scalar] = dict(values.inputs)
    variables: dict[str, Scalar] = dict(values.variables)
    named = {"inputs": Namespace("inputs", inputs), "vars": Namespace("vars", variables)}
    return named if values.goal is None else {**named, "goal": values.goal}


def _unchanged(text: str) -> str:
    return text


def _modern(text: str) -> str:
    return _OLD_GOAL.sub("{{ goal }}", text)


_PARSER = BoundedEnvironment({}, _unchanged)


def _parse(text: str, name: str) -> nodes.Template:
    try:
        return parse_template(_PARSER, text, name)
    except TemplateSyntaxError as error:
        raise _syntax_problem(error, text, name) from None


def _included(tree: nodes.Template, text: str, name: str) -> Mapping[str, Place]:
    """The paths that a tree includes, and where they stand."""
    found: dict[str, Place] = {}
    for include in tree.find_all(nodes.Include):
        written = str(include.template.value) if isinstance(include.template, nodes.Const) else ""
        place = find_reference(text, name, written) or line_place(text, name, include.lineno)
        try:
            found.setdefault(resolve_reference(name, written), place)
        except InvalidInput as error:
            raise TemplateProblem(error.code, error.message, error.hint or "", place) from None
    return found


def _closure(
    text: str, name: str, files: Mapping[str, str], *, chain: tuple[str, ...], done: set[str]
) -> Iterator[tuple[str, str, nodes.Template]]:
    """A template and everything that it includes, each file once: its name, text and tree."""
    tree = _parse(text, name)
    for path, place in _included(tree, text, name).items():
        if path in chain or path == name:
            raise TemplateProblem("include_cycle", f"`{path}` includes itself", "remove one of the includes", place)
        if path not in files:
            message = f"the included file `{path}` does not exist"
            raise TemplateProblem("missing_include", message, f"add `{path}`, or correct its path", place)
        if path not in done:
            done.add(path)
            yield from _closure(files[path], path, files, chain=(*chain, path), done=done)
    yield name, text, tree


def _check_names(tree: nodes.Template, text: str, name: str, *, is_goal: bool) -> None:
    """Refuse names that can never be in scope, unless a default stands in for them."""
    names = meta.find_undeclared_variables(tree)
    for variable in sorted(names - _ROOTS - _guarded(tree)):
        message = f"`{variable}` is never defined; templates see `goal`, `inputs.*` and `vars.*`"
        fix = f"write `{{{{ inputs.{variable} }}}}`, and give that input to each run"
        place = find_expression(text, name, variable) or line_place(text, name, 1)
        raise TemplateProblem("template_undefined_variable", message, fix, place)
    if is_goal and "goal" in names:
        place = find_expression(text, name, "goal") or line_place(text, name, 1)
        fix = "use an input instead, such as `{{ inputs.task }}`"
        raise TemplateProblem("goal_self_reference", "the goal refers to itself", fix, place)


def _guarded(tree: nodes.Template) -> set[str]:
    """Names that the template itself expects to be undefined."""
    filters = [node.node for node in tree.find_all(nodes.Filter) if node.name in _DEFAULTS]
    tests = [node.node for node in tree.find_all(nodes.Test) if node.name in {"defined", "undefined"}]
    return {node.name for node in [*filters, *tests] if isinstance(node, nodes.Name)}


def _collect(environment: BoundedEnvironment, tree: nodes.Template, name: str, values: Values) -> str:
    """The output, up to its limit."""
    pieces: list[str] = []
    length = 0
    for piece in environment.compiled(tree, name).generate(**_scope(values)):
        length += len(piece)
        if length > MAX_OUTPUT:
            raise LimitError(f"the rendered text is longer than {MAX_OUTPUT} characters")
        pieces.append(piece)
    return "".join(pieces)


def _syntax_problem(error: TemplateSyntaxError, text: str, name: str) -> TemplateProblem:
    fix = "correct the template; put braces that are meant as text between `{% raw %}` and `{% endraw %}`"
    return TemplateProblem(
        "template_syntax", f"not a template: {error.message}", fix, line_place(text, name, error.lineno)
    )


def _failure(error: Exception, text: str, name: str) -> TemplateProblem:
    reason = str(error)
    if isinstance(error, RecursionError | SyntaxError):
        reason = "it is nested too deep"
    elif isinstance(error, TemplateNotFound):
        reason = f"the included file `{error.name}` does not exist"
    fix = "correct the template, or make it simpler"
    return TemplateProblem(
        "template_failed", f"the template can't be rendered: {reason}", fix, line_place(text, name, 1)
    )


def _undefined(error: UndefinedError, text: str, name: str, files: Mapping[str, str]) -> TemplateProblem:
    """Which variable is missing, where it stands, and how to give it."""
    said = error.message or ""
    quoted = _UNDEFINED.match(said)
    expression = quoted[1] if quoted else said
    places = (
        find_expression(part, file, expression)
        for file, part, _ in _closure(text, name, files, chain=(), done=set())
    )
    place = next((place for place in places if place), None) or line_place(text, name, 1)
    return undefined(expression, place)
