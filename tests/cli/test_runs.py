"""Runs from the terminal, as real processes against a real server."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, SECONDS, Home

pytestmark = pytest.mark.slow

HELLO = """
digraph hello {
  goal = "say hello"
  start [shape=Mdiamond]
  hi [shape=parallelogram, script="echo hello; pwd"]
  done [shape=Msquare]
  start -> hi -> done
}
"""
LOOP = """
digraph loop {
  start [shape=Mdiamond]
  count [shape=parallelogram, script="echo x >> n; test $(wc -l < n) -ge 3"]
  again [shape=diamond]
  done [shape=Msquare]
  start -> count -> again
  again -> done [condition="outcome=succeeded"]
  again -> count
}
"""
FAILS = """
digraph fails {
  start [shape=Mdiamond]
  bad [shape=parallelogram, goal_gate=true, script="echo good; printf 'evil\\\\033[2Jline\\\\n'; exit 3"]
  done [shape=Msquare]
  start -> bad -> done
}
"""
GATE = """
digraph gate {
  start [shape=Mdiamond]
  ask [shape=hexagon, label="Ship it?"]
  ship [shape=parallelogram, script="echo shipped"]
  drop [shape=parallelogram, script="echo dropped"]
  done [shape=Msquare]
  start -> ask
  ask -> ship [label="[Y] Yes"]
  ask -> drop [label="[N] Not yet"]
  ship -> done
  drop -> done
}
"""
SLOW = """
digraph slow {
  start [shape=Mdiamond]
  nap [shape=insulator, duration="120s"]
  done [shape=Msquare]
  start -> nap -> done
}
"""


@pytest.fixture(scope="module")
def hello(home: Home) -> str:
    """The id of a run that has succeeded."""
    ended = home.fabro("run", home.write("hello.fabro", HELLO), "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])["run"]["id"]


def run_id(home: Home, name: str, text: str, *more: str) -> str:
    """Start a run in the background; its id."""
    started = home.fabro("run", home.write(name, text), "--detach", *more)
    assert started.returncode == 0, started.stderr
    return started.stdout.strip()


def test_the_first_run_says_that_nothing_is_isolated(home: Home) -> None:
    file = home.write("hello.fabro", HELLO)
    assert "without isolation" in home.fabro("run", file).stderr
    assert "without isolation" not in home.fabro("run", file).stderr


def test_a_run_shows_its_stages_and_works_in_this_folder(home: Home) -> None:
    ended = home.fabro("run", home.write("hello.fabro", HELLO))
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == ["▸ hi@1", "✓ hi@1"]
    assert lines[1].endswith("exit 0")
    assert lines[-1].startswith("✓ run succeeded in ")
    assert "hello" in ended.stderr
    printed = home.fabro("output", "hello", "hi")
    assert printed.stdout == f"hello\n{home.folder}\n"


def test_a_loop_has_a_line_for_each_visit(home: Home) -> None:
    ended = home.fabro("run", home.write("loop.fabro", LOOP), "-q")
    assert ended.returncode == 0
    assert ended.stdout.startswith("✓ run succeeded")
    shown = home.fabro("inspect", "loop").stdout
    assert "count@3" in shown
    assert "count@2 failed: the script ended with exit code 1" in shown


def test_a_failure_says_why_and_can_not_drive_the_terminal(home: Home) -> None:
    ended = home.fabro("run", home.write("fails.fabro", FAILS), LC_ALL="C")
    assert ended.returncode == 1
    assert "x bad@1  command" in ended.stdout
    assert "exit code 3" in ended.stdout
    assert "evil\\x1b[2Jline" in ended.stdout
    assert ended.stdout.isascii()
    shown = home.fabro("inspect", "fails").stdout
    assert "  | evil\\x1b[2Jline" in shown
    assert "\x1b" not in ended.stdout + shown
    assert home.fabro("output", "fails", "bad@1").stdout == "good\nevil\x1b[2Jline\n"
    assert home.fabro("wait", "fails").returncode == 1


def test_the_whole_of_a_long_output_is_given(home: Home) -> None:
    text = HELLO.replace("digraph hello", "digraph long").replace("echo hello; pwd", "seq 300000; printf '\\377'")
    assert home.fabro("run", home.write("long.fabro", text)).returncode == 0
    copied = subprocess.run(
        [*COMMAND, "output", "long", "hi"], env=home.environment, capture_output=True, check=True, timeout=SECONDS
    )
    assert copied.stdout == b"".join(b"%d\n" % number for number in range(1, 300_001)) + b"\xff"
    missing = home.fabro("output", "long", "nope")
    assert (missing.returncode, "Its stages are: start@1, hi@1" in missing.stderr) == (1, True)
    assert "ran no command" in home.fabro("output", "long", "start").stderr


def test_json_is_a_stream_of_events_and_then_the_run(home: Home) -> None:
    ended = home.fabro("--json", "run", home.write("hello.fabro", HELLO))
    assert (ended.returncode, ended.stderr) == (0, "")
    *events, last = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["event"] == "run.completed"
    run = last["run"]
    assert run["lifecycle"]["status"]["kind"] == "succeeded"
    again = home.fabro("events", run["id"], "--json").stdout
    assert [json.loads(line) for line in again.splitlines()] == events


def test_events_are_read_from_both_ends_and_followed(home: Home, hello: str) -> None:
    every = home.fabro("events", hello).stdout.splitlines()
    assert [line.split()[0] for line in every] == [str(number) for number in range(1, len(every) + 1)]
    assert home.fabro("events", hello, "-n", "3").stdout.splitlines() == every[-3:]
    assert home.fabro("events", hello, "-n", "5000").stdout.splitlines() == every
    assert home.fabro("events", hello, "--after", "4", "-n", "2", "-f").returncode == 2
    assert home.fabro("events", hello, "--after", "4", "-n", "2").stdout.splitlines() == every[4:6]
    assert home.fabro("events", hello, "--after", "4", "-f").stdout.splitlines() == every[4:]
    new = run_id(home, "gate.fabro", GATE)
    with home.terminal("events", new, "-f", "--json") as terminal:
        terminal.wait_for('"run.blocked"')
        assert home.fabro("answer", new, "y").returncode == 0
        terminal.wait_for('"run.completed"')
        assert terminal.end() == 0


@pytest.mark.parametrize(
    "arguments",
    [["ps", "--all"], ["inspect", "hello"], ["wait", "hello"]],
)
def test_every_read_speaks_json(home: Home, hello: str, arguments: list[str]) -> None:
    read = home.fabro(*arguments, "--json")
    assert (read.returncode, read.stderr) == (0, "")
    assert hello in read.stdout
    json.loads(read.stdout)


def test_options_of_all_commands_stand_before_or_after_the_name(home: Home, hello: str) -> None:
    before, after = home.fabro("--json", "inspect", hello), home.fabro("inspect", hello, "--json")
    assert json.loads(before.stdout) == json.loads(after.stdout)


def test_inputs_goal_labels_and_title_arrive_as_they_were_written(home: Home, tmp_path: Path) -> None:
    hostile = f"$(touch {tmp_path}/pwned); '\"`"
    goal = home.write("goal ü.txt", hostile)
    created = home.fabro(
        *("create", home.write("hello.fabro", HELLO), "--goal-file", goal, "--title", "my run", "--json"),
        *("-I", "a=b=c", "-I", "n=007", "-I", "k=5", "--label", "x=1", "--label", "y=2", "--target", "none"),
    )
    assert created.returncode == 0, created.stderr
    run = json.loads(created.stdout)
    assert (run["goal"], run["title"], run["labels"]) == (hostile, "my run", {"x": "1", "y": "2"})
    assert run["lifecycle"]["status"]["kind"] == "submitted"
    assert run["target"] == {"kind": "none"}
    state = json.loads(home.fabro("inspect", run["id"], "--json").stdout)
    assert state["inputs"] == {"a": "b=c", "n": "007", "k": 5}
    assert home.fabro("start", run["id"]).returncode == 0
    assert home.fabro("wait", run["id"]).returncode == 0
    assert home.fabro("start", run["id"]).returncode == 1
    assert not (tmp_path / "pwned").exists()


def test_a_goal_comes_from_standard_input_and_may_be_empty(home: Home) -> None:
    file = home.write("hello.fabro", HELLO)
    created = home.fabro("create", file, "--goal-file", "-", "--json", stdin="from stdin")
    assert json.loads(created.stdout)["goal"] == "from stdin"
    both = home.fabro("create", file, "--goal", "", "--goal-file", "-")
    assert (both.returncode, both.stdout) == (2, "")
    assert home.fabro("create", file, "--goal-file", "missing").returncode == 1


def test_files_are_relative_to_the_workflow_wherever_it_is_called_from(home: Home, tmp_path: Path) -> None:
    home.write("far/flow.fabro", HELLO.replace('goal = "say hello"', 'goal = "@goal.md"'))
    home.write("far/goal.md", "from the file")
    link = tmp_path / "link"
    link.symlink_to(home.folder / "far")
    versions = {
        home.fabro("workflow", "register", f"{place}/flow.fabro", folder=folder).stdout
        for place, folder in ((link, home.folder), (home.folder / "far", tmp_path), ("far", home.folder))
    }
    assert len(versions) == 1
    detached = home.fabro("run", str(link / "flow.fabro"), "--detach", "--json", folder=tmp_path)
    watched = home.fabro("run", str(link / "flow.fabro"), "--json", folder=tmp_path)
    runs = [json.loads(detached.stdout), json.loads(watched.stdout.splitlines()[-1])["run"]]
    assert [run["goal"] for run in runs] == ["from the file"] * 2
    assert [run["target"]["path"] for run in runs] == [str(tmp_path)] * 2
    assert runs[0]["workflow"] == runs[1]["workflow"]


def test_a_name_is_found_in_the_project(home: Home) -> None:
    home.write(".fabro/workflows/greet/workflow.fabro", HELLO)
    deep = home.folder / "a" / "b"
    deep.mkdir(parents=True, exist_ok=True)
    ended = home.fabro("run", "greet", "--dry-run", folder=deep)
    assert ended.returncode == 0, ended.stderr


def test_an_invalid_workflow_is_shown_with_fixes(home: Home) -> None:
    ended = home.fabro("run", home.write("bad.fabro", HELLO.replace("hi -> done", "hi -> dome")))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "bad.fabro:" in ended.stderr
    assert "fix:" in ended.stderr
    as_json = home.fabro("run", "bad.fabro", "--json")
    error = json.loads(as_json.stderr)["error"]
    assert error["code"] == "workflow_version_invalid"
    assert error["details"]["diagnostics"]
    assert home.fabro("validate", "bad.fabro").returncode == 1


def test_without_a_terminal_a_question_ends_the_watching(home: Home) -> None:
    ended = home.fabro("run", home.write("gate.fabro", GATE), stdin="y\n" * 1000)
    assert ended.returncode == 5
    told = ended.stderr.splitlines()[-1]
    assert told.startswith("answer it with: fabro answer ")
    run, question, _ = told.removeprefix("answer it with: fabro answer ").split()
    assert home.fabro("attach", run).returncode == 5
    assert home.fabro("wait", run, "--until", "blocked").returncode == 5
    late = home.fabro("wait", run, "--timeout", "0.1")
    assert (late.returncode, "is up" in late.stderr) == (1, True)
    refused = home.fabro("answer", run, "maybe")
    assert refused.returncode == 1
    assert "hint: Answer with one of: Y" in refused.stderr
    assert home.fabro("answer", run, question, "yes").returncode == 0
    assert home.fabro("wait", run).returncode == 0
    assert home.fabro("attach", run).returncode == 0
    gone = home.fabro("answer", run, "yes", "--json")
    assert json.loads(gone.stderr)["error"]["code"] == "question_closed"


def test_questions_can_be_answered_automatically(home: Home) -> None:
    assert home.fabro("run", home.write("gate.fabro", GATE), "--auto-approve").returncode == 0


def test_cancelling(home: Home) -> None:
    first, second = run_id(home, "slow.fabro", SLOW), run_id(home, "slow.fabro", SLOW)
    both = home.fabro("cancel", first, "nonesuch", second)
    assert both.returncode == 1
    assert [line.split()[0] for line in both.stdout.splitlines()] == [first, second]
    assert "nonesuch" in both.stderr
    watched = home.fabro("attach", first)
    assert watched.returncode == 1
    assert "run was cancelled" in watched.stdout
    run_id(home, "slow.fabro", SLOW)
    assert home.fabro("cancel", "--all").returncode == 2
    assert home.fabro("cancel", "--all", "--yes").returncode == 0
    assert home.fabro("ps").stdout == "" or "cancelling" in home.fabro("ps").stdout
    assert home.fabro("ps", "--all", "--status", "failed", "--limit", "1", "-q").stdout.count("\n") == 1
