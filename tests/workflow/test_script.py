import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.workflow.script import check_script, interpolate
from fabro.workflow.template_problem import TemplateProblem
from fabro.workflow.tokens import Values

VALUES = Values(goal="it's $(touch x)", inputs={"a-b": 5, "on": True, "t": "{{ goal }}"}, variables={"V": "v w"})


def test_shell_values_are_one_word_each() -> None:
    script = "echo {{ goal }} {{inputs.a-b}} {{ inputs.on }} {{ inputs.t }} {{ vars.V }}"
    words = shlex.split(interpolate(script, "w", "shell", VALUES))
    assert words == ["echo", "it's $(touch x)", "5", "true", "{{ goal }}", "v w"]


def test_python_values_are_string_literals() -> None:
    assert interpolate("print({{ inputs.t }})", "w", "python", VALUES) == 'print("{{ goal }}")'


@given(st.text().filter(lambda text: "\0" not in text))
def test_whatever_the_value_holds(value: str) -> None:
    values = Values(goal="", inputs={"x": value}, variables={})
    assert shlex.split(interpolate("{{ inputs.x }}", "w", "shell", values)) == [value]
    assert json.loads(interpolate("{{ inputs.x }}", "w", "python", values)) == value


@pytest.mark.parametrize(
    "script",
    [
        "${HOME} {{ x }} {% if %} {{range .Env}} {{ inputs }} {{ goal | upper }} {{ inputs.x.y }} $goal",
        "awk '{print $1}'",
    ],
)
def test_every_other_brace_stays(script: str) -> None:
    assert interpolate(script, "w", "shell", VALUES) == script


@pytest.mark.parametrize(("token", "name"), [("inputs.no", "inputs.no"), ("vars.NO", "vars.NO")])
def test_an_unbound_token_is_refused(token: str, name: str) -> None:
    with pytest.raises(TemplateProblem) as caught:
        interpolate(f"echo {{{{ {token} }}}}", "w", "shell", VALUES)
    assert caught.value.rule == "template_undefined_variable"
    assert name in caught.value.message
    assert caught.value.place.index == 8


@pytest.mark.parametrize(("language", "instead"), [("shell", "$KEY"), ("python", 'os.environ["KEY"]')])
@pytest.mark.parametrize("root", ["env", "secrets"])
def test_secrets_do_not_stand_in_scripts(language: str, instead: str, root: str) -> None:
    with pytest.raises(TemplateProblem) as caught:
        check_script(f"curl {{{{ {root}.KEY }}}}", "w", language)
    assert caught.value.rule == "script_secret_token"
    assert instead in caught.value.fix
    check_script("curl $KEY", "w", language)
