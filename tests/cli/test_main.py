"""The command line as a whole: its table, its options, its documentation, its errors."""

import errno
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from fabro.cli.boundary import Usage, guarded
from fabro.cli.lazy import Loaded, load
from fabro.cli.main import COMMANDS, execute
from fabro.cli.options import Settings
from fabro.errors import Conflict, FabroError, NotFound, Unauthorized
from fabro.store.folder import open_folder

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
OTHERS = ("server", "mcp")
"""Groups that are documented on pages of their own."""


def leaves(name: str, command: Loaded) -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperCommand):
        yield name, command
        return
    for child, found in command.commands.items():
        assert isinstance(found, TyperCommand | TyperGroup)
        yield from leaves(f"{name} {child}", found)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = load(name, COMMANDS[name])
    assert (command.help or "").startswith(COMMANDS[name].help)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    assert f"`fabro {name}" in DOCS
    if name in OTHERS:
        return
    for path, command in leaves(name, load(name, COMMANDS[name])):
        assert f"`fabro {path}" in DOCS
        options = {option for param in command.params for option in param.opts if option.startswith("-")}
        assert sorted(option for option in options if not re.search(rf"{option}(?![\w-])", DOCS)) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_global_options_are_taken_after_the_command(name: str) -> None:
    for path, command in leaves(name, load(name, COMMANDS[name])):
        options = {option for param in command.params for option in param.opts}
        assert {"--json", "--quiet", "--verbose", "--debug", "--server", "--storage-dir"} <= options, path


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([], {}) == 0
    out = capsys.readouterr().out
    for section in ("Run workflows:", "Look:", "Steer:", "Server:", "MCP:", "Other:", "First steps:"):
        assert section in out
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["runn"], "there is no command 'runn'", "Did you mean `fabro run`?"),
        (["ps", "--limt", "5"], "No such option: --limt. Did you mean --limit?", "`fabro ps --help`"),
        (["--jsn", "ps"], "No such option: --jsn. Did you mean --json?", "`fabro --help`"),
        (["ps", "--limit", "0"], "Invalid value for '--limit'", "`fabro ps --help`"),
        (["ps", "--status", "odd"], "Invalid value for '--status'", "`fabro ps --help`"),
        (["run"], "Missing argument", "`fabro run --help`"),
        (["cancel"], "name the runs to cancel", None),
        (["cancel", "x", "--all"], "name the runs to cancel", None),
        (["answer", "r", "a", "b", "c"], "3 words for an answer", "Quote an answer"),
        (["run", "x.fabro", "--goal"], "Option '--goal' requires an argument.", None),
    ],
)
def test_a_wrong_command_line(
    arguments: list[str], message: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(arguments, {}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert "Traceback" not in err
    assert hint is None or f"hint: {hint}" in err
    assert execute(["--json", *arguments], {}) == 2
    assert list(json.loads(capsys.readouterr().err)) == ["error"]


def raising(error: BaseException) -> int:
    def act() -> None:
        raise error

    return guarded(act, Settings())


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (NotFound("gone", hint="look there"), 1, "error: gone\nhint: look there\n"),
        (Usage("wrong"), 2, "error: wrong\n"),
        (Unauthorized("who?"), 4, "error: who?\n"),
        (
            ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("more", [Conflict("busy")])]),
            1,
            "error: busy\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (typer.Exit(7), 7, ""),
        (typer.Abort(), 130, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (OSError(errno.EACCES, "Permission denied", "/x"), 1, "error: Permission denied: /x\n"),
        (FabroError("bad\x1b[2J"), 1, "error: bad\\x1b[2J\n"),
    ],
)
def test_errors_become_words_and_codes(
    error: BaseException, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == code
    assert capsys.readouterr() == ("", told)


def test_errors_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    def act() -> None:
        raise NotFound("gone", hint="look", details={"id": 3})

    assert guarded(act, Settings(json=True)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err) == {
        "error": {"code": "not_found", "message": "gone", "hint": "look", "details": {"id": 3}}
    }


@pytest.mark.parametrize("claimed", [True, False])
def test_an_internal_error_is_one_line_and_its_traceback_is_kept(
    *, claimed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def act() -> None:
        raise ZeroDivisionError("oh")

    storage = tmp_path / "storage"
    if claimed:
        open_folder(storage).close()
    assert guarded(act, Settings(storage_dir=str(storage))) == 1
    err = capsys.readouterr().err
    told = re.fullmatch(r"error: internal error: ZeroDivisionError: oh \(the traceback is in (.*)\)\n", err)
    assert told is not None
    kept = Path(told[1])
    assert kept.is_relative_to(storage) is claimed
    assert storage.exists() is claimed
    assert "Traceback" in kept.read_text(encoding="utf-8")


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def act() -> None:
        raise ZeroDivisionError("oh")

    assert guarded(act, Settings(debug=True)) == 1
    assert "Traceback" in capsys.readouterr().err
