"""What the help says of `fabro mcp`: only what there is."""

import re

import pytest

from fabro.cli.lazy import load
from fabro.cli.main import COMMANDS, EXAMPLE, execute


def test_the_help_names_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["mcp", "--help"], {}) == 0
    out = capsys.readouterr().out
    assert "Serve the run tools to MCP clients." in out
    assert re.findall(r"^  (start|init|set\w*) ", out, re.MULTILINE) == ["start"]


def test_the_first_steps_name_a_command_that_exists() -> None:
    (named,) = re.findall(r"fabro mcp (\w+)", EXAMPLE)
    command = load("mcp", COMMANDS["mcp"])
    assert list(getattr(command, "commands", {})) == [named]
