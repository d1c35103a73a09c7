"""`{{ goal }}`, `{{ inputs.NAME }}` and `{{ vars.NAME }}`: what they stand for. Above: template, script.
Below: template_problem.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabro.workflow.attributes import AttributeValue
from fabro.workflow.template_problem import Place, TemplateProblem


@dataclass(frozen=True, kw_only=True)
class Values:
    """What a text may refer to. `goal` is None while the goal itself is rendered."""

    goal: str | None
    inputs: Mapping[str, str | int | float | bool]
    variables: Mapping[str, str]


def value_of(token: "re.Match[str]", file: str, values: Values) -> AttributeValue:
    """The value of a token, whose pattern has the groups `goal`, `input` and `variable`.

    Raises:
        TemplateProblem: `template_undefined_variable`, at the token.
    """
    value: AttributeValue | None
    if token["goal"]:
        name, value = "goal", values.goal
    elif token["input"]:
        name, value = f"inputs.{token['input']}", values.inputs.get(token["input"])
    else:
        name, value = f"vars.{token['variable']}", values.variables.get(token["variable"])
    if value is None:
        raise undefined(name, Place(file, token.start() + token[0].index(name), len(name)))
    return value


def undefined(name: str, place: Place) -> TemplateProblem:
    """The problem that a name has no value, and how to give it one."""
    root, _, variable = name.partition(".")
    fixes = {
        "inputs": f"give the run the input `{variable}`",
        "vars": f"set the variable `{variable}` on the server",
    }
    fix = fixes.get(root, "use `goal`, `inputs.NAME` or `vars.NAME`")
    return TemplateProblem("template_undefined_variable", f"`{name}` is not defined", fix, place)
