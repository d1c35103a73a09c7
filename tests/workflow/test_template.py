from collections.abc import Mapping
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.workflow.template import check, find_old_goal, references, render
from fabro.workflow.template_problem import TemplateProblem
from fabro.workflow.tokens import Values

FILES = {
    "p/main.md": "{% include 'part.md' %}",
    "p/part.md": "part of {{ goal }}{% include '../other.md' %}",
    "other.md": "!",
    "a.md": "{% include 'b.md' %}",
    "b.md": "\n{% include 'a.md' %}",
    "double.md": "{% include 'd1.md' %}{% include 'd1.md' %}",
    **{f"d{n}.md": "{{% include 'd{0}.md' %}}{{% include 'd{0}.md' %}}".format(n + 1) for n in range(1, 25)},
    "d25.md": "x",
}
VALUES = Values(
    goal="fix {{ it }}",
    inputs={"name": "Ann", "count": 3, "share": 0.5, "loud": True, "items": "i", "a": "<b>"},
    variables={"KEY": "k"},
)


def rendered(text: str, values: Values = VALUES) -> str:
    return render(text, "w.md", FILES, values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain { text } $x %}\n", "plain { text } $x %}\n"),
        ("{{ goal }} {{inputs.name}} {{ vars.KEY }}", "fix {{ it }} Ann k"),
        ("{{ inputs.loud }} {{ inputs.count }} {{ inputs.share }}", "true 3 0.5"),
        ("{{ inputs.loud | string }}{{ inputs.count + 1 }} {{ inputs['name'] }}", "True4 Ann"),
        ("{{ inputs.items }}{{ inputs.items|upper }}", "iI"),
        ("$goal and $goals", "fix {{ it }} and $goals"),
        ("{% if inputs.loud %}YES{% else %}no{% endif %}", "YES"),
        ("{% for i in range(3) %}{{ loop.index }}{{ i }} {% endfor %}", "10 21 32 "),
        ("{% for x in ['a', 'b'] %}{{ x }}{% endfor %}", "ab"),
        ("{% set x = inputs.name ~ '!' %}{{ x }}", "Ann!"),
        ("{{ inputs.nope | default('none') }}", "none"),
        ("{{ nope | default('none') }}", "none"),
        ("{% if inputs.nope is defined %}x{% endif %}ok", "ok"),
        ("{% raw %}{{ inputs.nope }}{% endraw %}", "{{ inputs.nope }}"),
        ("{{ '{{' }} x {{ '}}' }}", "{{ x }}"),
        ("{# note #}a", "a"),
        ("{{ inputs.a }}", "<b>"),
        (
            "{{ ['a', 'b'] | join(', ') }} {{ 'aXa' | replace('X', '-') }} {{ {'k': 1} | tojson }}",
            'a, b a-a {"k": 1}',
        ),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{% include 'p/main.md' %}", "part of fix {{ it }}!"),
        ("line\n\n", "line\n\n"),
        ("{{ 7 // 2 }} {{ 2 * 3 }} {{ 'a' + 'b' }} {{ 7 % 4 }} {{ -1 }}", "3 6 ab 3 -1"),
        ("{{ none }}", "none"),
    ],
)
def test_rendering(text: str, expected: str) -> None:
    assert rendered(text) == expected


def test_values_are_never_templates() -> None:
    data = (
        "docker inspect --format '{{range .Config.Env}}' {% raw %} {# x #} ${{ secrets.X }} {{ inputs.name }} $goal"
    )
    values = Values(goal=data, inputs={"x": data, "name": "Ann"}, variables={"y": data})
    for text in ("{{ goal }}|{{ inputs.x }}|{{ vars.y }}", "{{ goal | trim }}|{{ inputs.x ~ '' }}|{{ vars.y }}"):
        assert rendered(text, values) == f"{data}|{data}|{data}"


@given(st.text(), st.text())
def test_a_value_arrives_as_it_is(goal: str, value: str) -> None:
    values = Values(goal=goal, inputs={"x": value}, variables={})
    assert rendered("[{{ goal }}][{{ inputs.x }}]", values) == f"[{goal}][{value}]"
    assert rendered("[{{ goal ~ '' }}][{{ inputs['x'] }}]", values) == f"[{goal}][{value}]"


def problem_of(text: str, values: Values = VALUES, files: Mapping[str, str] = FILES) -> TemplateProblem:
    with pytest.raises(TemplateProblem) as caught:
        render(text, "w.md", files, values)
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a {{ inputs.nope }}", "inputs.nope"),
        ("a {{ inputs.nope | upper }}", "inputs.nope"),
        ("inputs.nope\n {{ inputs['nope'] }}", "inputs.nope"),
        ("{{ vars.NOPE }}", "vars.NOPE"),
        ("{% if inputs.nope %}{% endif %}", "inputs.nope"),
        ("{{ nope }}", "nope"),
        ("{{ nope.more }}", "nope"),
        ("{% for x in inputs.nope %}{% endfor %}", "inputs.nope"),
        ("{{ env.HOME }}", "env"),
        ("{{ secrets.KEY }}", "secrets"),
    ],
)
def test_an_undefined_variable_is_named_at_its_place(text: str, name: str) -> None:
    problem = problem_of(text)
    assert problem.rule == "template_undefined_variable"
    assert problem.message == f"`{name}` is not defined"
    assert problem.place.file == "w.md"
    assert text[problem.place.index :].startswith(name.split(".", maxsplit=1)[0])
    assert text.rfind("{", 0, problem.place.index) != -1


def test_an_undefined_variable_in_an_included_file() -> None:
    problem = problem_of("{% include 'inner.md' %}", files={"inner.md": "x\n {{ inputs.nope | trim }}"})
    assert (problem.place.file, problem.place.index) == ("inner.md", 6)


@pytest.mark.parametrize(
    "text",
    [
        "{{ goal",
        "{% if %}",
        "{% for %}",
        "{% macro f() %}{% endmacro %}",
        "{% import 'a.md' as a %}",
        "{% extends 'a.md' %}",
        "{% block b %}{% endblock %}",
        "{% include goal %}",
        "{% set x %}a{% endset %}",
        "{{ inputs.items() }}",
        "{{ ''.__class__.mro() }}",
        "{{ goal.upper() }}",
        "{{ lipsum() }}",
        "{{ cycler() }}",
        "{{ 2 ** 3 }}",
        "{{ range }}",
        "{{range .Config.Env}}",
        "{{ 'a' | center(1000000000) }}",
        "{{ '%1000000000d' | format(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{{ " + "1 + " * 3000 + "1 }}",
        "{{ " + "not " * 3000 + "1 }}",
        "{% if 1 %}" * 200 + "{% endif %}" * 200,
    ],
)
def test_what_the_language_leaves_out(text: str) -> None:
    assert problem_of(text).rule == "template_syntax"
    with pytest.raises(TemplateProblem) as caught:
        check(text, "w.md", FILES, is_goal=False)
    assert caught.value.rule == "template_syntax"


NESTED = "".join("{% for i in range(10000) %}" for _ in range(3)) + "{% endfor %}" * 3
DOUBLING = "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 60


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(1000000000) %}{% endfor %}",
        NESTED,
        "{% for c in goal %}" * 4 + "{% endfor %}" * 4,
        "{% for i in range(9000) %}{{ '" + "x" * 500 + "' }}{% endfor %}",
        DOUBLING,
        "{% set a = 3 %}" + "{% set a = a * a %}" * 60,
        "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60,
        "{% set a = [1] %}" + "{% set a = a + a %}" * 60,
        "{{ 'a' * 1000000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{% set a = '" + "a" * 2000 + "' %}{{ a | replace('a', a) | replace('a', a) }}",
        "{{ [1] }}",
        "{{ goal.__class__ }}",
        "{{ goal.upper }}",
        "{{ inputs }}",
        "{{ 1 / 0 }}",
        "{{ 1 - 'a' }}",
        "{{ goal | int | round(2) | upper | nope }}".replace(" | nope", " | indent('x')"),
        "{% include 'double.md' %}",
    ],
)
def test_rendering_is_bounded(text: str) -> None:
    values = Values(goal="g" * 1000, inputs={}, variables={})
    started = process_time()
    problem = problem_of(text, values)
    assert problem.rule in {"template_failed", "template_undefined_variable"}
    assert process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "rule", "index"),
    [
        ("a\n{% include 'no.md' %}", "missing_include", 14),
        ("{% include '../../etc/passwd' %}", "reference_escapes", 12),
        ("{% include '/etc/passwd' %}", "invalid_workflow_path", 12),
        ("{% include 'a.md' %}", "include_cycle", 12),
        ("b {{ nope }}", "template_undefined_variable", 5),
        ("a\nb {{ if }", "template_syntax", 4),
    ],
)
def test_checking(text: str, rule: str, index: int) -> None:
    with pytest.raises(TemplateProblem) as caught:
        check(text, "w.md", FILES, is_goal=False)
    problem = caught.value
    assert problem.rule == rule
    if rule != "include_cycle":
        assert (problem.place.file, problem.place.index) == ("w.md", index)


@pytest.mark.parametrize(
    "text",
    [
        "{{ goal }} {{ inputs.anything }} {{ vars.X }}",
        "{{ goal | upper }}{% for i in range(3) %}{{ i }}{% endfor %}",
        "{{ x | default(1) }}{% if y is defined %}{% endif %}{% set z = 1 %}{{ z }}",
        "{% include 'p/main.md' %}",
        "{% include 'double.md' %}",
    ],
)
def test_checking_accepts(text: str) -> None:
    check(text, "w.md", FILES, is_goal=False)


@pytest.mark.parametrize("text", ["about {{ goal }}", "{{ goal | upper }}", "{% if goal %}{% endif %}"])
def test_a_goal_does_not_refer_to_itself(text: str) -> None:
    with pytest.raises(TemplateProblem) as caught:
        check(text, "w.md", FILES, is_goal=True)
    assert caught.value.rule == "goal_self_reference"


def test_references() -> None:
    assert references("{% include 'b.md' %}{% include './b.md' %}{% include '../c.md' %}", "x/a.md") == (
        "x/b.md",
        "c.md",
    )
    assert references("nothing", "a.md") == ()


def test_old_goal() -> None:
    assert find_old_goal("say $goal") == 4
    assert find_old_goal("say $goals") is None


TEMPLATE_PIECES = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{#", "#}", " goal ", " inputs.x ", " if ", " endif ", " for i in ", "range(3)",
     " endfor ", "|upper", "'a'", " set x = 1", "raw", "endraw", "(", ")", "[", "]", "\n", ".", "-",
     "include 'a.md'", "$goal"]
)  # fmt: skip


@given(st.lists(TEMPLATE_PIECES, max_size=25).map("".join))
def test_any_text_renders_or_tells_a_problem(text: str) -> None:
    for values in (VALUES, Values(goal=None, inputs={}, variables={})):
        try:
            output = rendered(text, values)
        except TemplateProblem as problem:
            output = problem.message
        assert isinstance(output, str)
