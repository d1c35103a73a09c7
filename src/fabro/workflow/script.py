"""Tokens in command scripts: `{{ goal }}`, `{{ inputs.NAME }}` and `{{ vars.NAME }}`. Above: bind, rules.
Below: tokens.

A script is no template (reference/engine.md §1.8): these tokens are replaced once, every other brace stays. A value
arrives as one word of the shell, or as one string literal of Python, whatever characters it holds.
"""

import json
import re
import shlex

from fabro.workflow.template_problem import Place, TemplateProblem
from fabro.workflow.tokens import Values, value_of
from fabro.workflow.values import value_text

_TOKEN = re.compile(
    r"\{\{\s*(?:(?P<goal>goal)|inputs\.(?P<input>[A-Za-z0-9_-]+)|vars\.(?P<variable>[A-Za-z_][A-Za-z0-9_]*))\s*\}\}"
)
_HIDDEN = re.compile(r"\{\{\s*(?P<root>env|secrets)\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def check_script(script: str, name: str, language: str) -> None:
    """Refuse tokens that would write a secret or the environment into the script's text.

    Raises:
        TemplateProblem: `script_secret_token`.
    """
    found = _HIDDEN.search(script)
    if found is not None:
        variable = found["name"]
        instead = f'os.environ["{variable}"]' if language == "python" else f"${variable}"
        raise TemplateProblem(
            "script_secret_token",
            f"a script can't hold `{found[0]}`",
            f"write `{instead}`, and set {variable} in the environment's `env`",
            Place(name, found.start(), len(found[0])),
        )


def interpolate(script: str, name: str, language: str, values: Values) -> str:
    """The script with its tokens replaced.

    Raises:
        TemplateProblem: an input or a variable is not there (`template_undefined_variable`).
    """

    def replaced(token: "re.Match[str]") -> str:
        text = value_text(value_of(token, name, values))
        return json.dumps(text, ensure_ascii=False) if language == "python" else shlex.quote(text)

    return _TOKEN.sub(replaced, script)
