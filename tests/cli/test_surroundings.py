"""Odd surroundings: no home, a full disk, closed pipes, other locales. Nothing more happens than was asked for."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, SECONDS, Home
from tests.cli.test_runs import HELLO

pytestmark = pytest.mark.slow

MODULES = (
    "import json, os, sys; from fabro.cli.main import execute; code = execute(sys.argv[1:], os.environ); "
    "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)"
)
HEAVY = {"pydantic", "httpx", "fastapi", "mcp", "jinja2", "rich", "asyncio"}


def run(environment: Mapping[str, str], *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**environment, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def shell(home: Home, script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A script in which `$F` is the command."""
    return subprocess.run(
        ["bash", "-c", script],
        env={**home.environment, **environment, "F": " ".join(COMMAND)},
        cwd=home.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["version", "--json"]])
def test_what_must_start_at_once_loads_little(arguments: list[str], fabro_home: Mapping[str, str]) -> None:
    ended = subprocess.run(
        [COMMAND[0], "-c", MODULES, *arguments],
        env=fabro_home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    code, modules = json.loads(ended.stderr)
    assert code == 0
    assert sorted(HEAVY.intersection(modules)) == []


def test_without_a_home_the_way_out_is_said(fabro_home: Mapping[str, str]) -> None:
    homeless = {name: value for name, value in fabro_home.items() if name not in ("HOME", "FABRO_HOME")}
    ended = run(homeless, "ps")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        "error: there is no home folder: HOME is not set",
        "hint: Set HOME, or FABRO_HOME, or pass --storage-dir.",
    ]
    assert json.loads(run(homeless, "doctor", "--json").stdout)["ok"] is False


def test_storage_that_can_not_be_used_is_one_clear_error(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = run(fabro_home, "ps", "--storage-dir", str(tmp_path / "file"))
    assert ended.returncode == 1
    assert "is no folder" in ended.stderr
    assert "Traceback" not in ended.stderr
    checked = run(fabro_home, "doctor", "--storage-dir", str(tmp_path / "file"))
    assert checked.returncode == 1
    assert "storage: Change its rights" in checked.stdout


def test_an_invalid_workflow_starts_no_server(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.fabro"
    bad.write_text("digraph {")
    for arguments in (["run", str(bad)], ["run", str(tmp_path)], ["run", "none.fabro"], ["create", "a/b"]):
        ended = run(fabro_home, *arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
    assert [*Path(fabro_home["FABRO_HOME"]).iterdir()] == []


def test_a_server_that_is_not_there_is_said(fabro_home: Mapping[str, str]) -> None:
    ended = run(fabro_home, "ps", "--json", "--server", "http://127.0.0.1:9")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert json.loads(ended.stderr)["error"]["code"] == "server_unreachable"
    shown = run(fabro_home, "version", FABRO_SERVER="http://127.0.0.1:9")
    assert (shown.returncode, "no server" in shown.stderr) == (0, True)


def test_doctor_finds_a_fresh_machine_in_order(fabro_home: Mapping[str, str]) -> None:
    ended = run(fabro_home, "doctor", "--json", OPENAI_API_KEY="sk-secret")
    found = {check["name"]: check for check in json.loads(ended.stdout)["checks"]}
    assert found["server"]["summary"].startswith("not running")
    assert found["keys"]["summary"] == "found OPENAI_API_KEY"
    assert found["log"]["summary"].startswith(fabro_home["FABRO_HOME"])
    assert {"python", "storage", "disk", "local model", "bash", "git", "python3", "clock"} <= set(found)
    assert "sk-secret" not in ended.stdout
    assert [*Path(fabro_home["FABRO_HOME"]).iterdir()] == []
    assert run(fabro_home, "doctor", PATH="/nowhere").returncode == 1


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts(name: str, fabro_home: Mapping[str, str]) -> None:
    assert "_FABRO_COMPLETE" in run(fabro_home, "completion", name).stdout


def test_completion_completes(fabro_home: Mapping[str, str]) -> None:
    asked = {"_FABRO_COMPLETE": "complete_bash", "COMP_WORDS": "fabro ins", "COMP_CWORD": "1"}
    assert run(fabro_home, **asked).stdout.split() == ["inspect"]
    asked |= {"COMP_WORDS": "fabro run --au", "COMP_CWORD": "2"}
    assert run(fabro_home, **asked).stdout.split() == ["--auto-approve"]


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(home: Home) -> None:
    home.write("hello.fabro", HELLO)
    cut = shell(home, "$F run hello.fabro --json | head -1; echo ${PIPESTATUS[0]}")
    *lines, code = cut.stdout.splitlines()
    assert json.loads(lines[0])["seq"] == 1
    assert (code, cut.stderr) == ("141", "")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["ps --json", "run hello.fabro", "--help", "version"])
def test_output_that_can_not_be_written_is_a_failure(home: Home, arguments: str) -> None:
    home.write("hello.fabro", HELLO)
    full = shell(home, f"$F {arguments} >/dev/full")
    assert full.returncode == 1
    assert "No space left on device" in full.stderr
    assert "Traceback" not in full.stderr


@pytest.mark.slow
def test_narrow_poor_and_closed_terminals(home: Home) -> None:
    home.write("hello.fabro", HELLO)
    poor = shell(home, "$F run hello.fabro --title 'Grüße 🙂' <&- && $F ps --all", LC_ALL="C", COLUMNS="20")
    assert poor.returncode == 0, poor.stderr
    assert poor.stdout.isascii()
    assert "Gr\\xfc\\xdfe \\U0001f642" in poor.stdout
    assert shell(home, "$F ps >&-").returncode == 0
    with home.terminal("ps", "--all", COLUMNS="20", LINES="20") as terminal:
        assert terminal.end() == 0
    assert "RUN" in terminal.shown
