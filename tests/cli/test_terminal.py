"""Runs on a terminal: movement, questions, Ctrl-C."""

import pytest

from tests.cli.conftest import Home
from tests.cli.test_runs import GATE, HELLO, SLOW

pytestmark = pytest.mark.slow
CTRL_C, CTRL_D = "\x03", "\x04"


def test_a_question_is_asked_until_the_answer_fits(home: Home) -> None:
    with home.terminal("run", home.write("gate.fabro", GATE)) as terminal:
        shown = terminal.wait_for("answer (number, key or label): ")
        assert "1) [Y] Yes" in shown
        assert "2) [N] Not yet" in shown
        terminal.type("maybe\n")
        assert "Answer with one of: Y" in terminal.wait_for("answer (number, key or label): ")
        terminal.type("2\n")
        terminal.wait_for("drop@1  command")
        assert terminal.end() == 0
    assert "run succeeded" in terminal.shown


def test_somebody_else_may_answer_first(home: Home) -> None:
    with home.terminal("run", home.write("gate.fabro", GATE)) as terminal:
        terminal.wait_for("answer (number, key or label): ")
        terminal.type("half a li")
        assert home.fabro("answer", "gate", "yes").returncode == 0
        terminal.wait_for("no answer is needed any more")
        terminal.wait_for("answered: Y")
        assert terminal.end() == 0


def test_two_terminals_answer_one_wins(home: Home) -> None:
    with home.terminal("run", home.write("gate.fabro", GATE)) as first:
        first.wait_for("answer (number, key or label): ")
        with home.terminal("attach", "gate") as second:
            second.wait_for("answer (number, key or label): ")
            first.type("y\n")
            second.type("n\n")
            assert (first.end(), second.end()) == (0, 0)
    assert ("ship@1" in first.shown) is ("ship@1" in second.shown)


def test_ctrl_c_detaches_and_the_run_goes_on(home: Home) -> None:
    with home.terminal("run", home.write("slow.fabro", SLOW)) as terminal:
        terminal.wait_for("nap@1")
        terminal.type(CTRL_C)
        shown = terminal.wait_for("end it: fabro cancel ")
        assert "detached; the run goes on" in shown
        assert terminal.end() == 130
    assert terminal.shown.count("\x1b[?25h") >= terminal.shown.count("\x1b[?25l") > 0
    with home.terminal("attach", "slow", TERM="dumb") as terminal:
        terminal.wait_for("nap@1")
        assert home.fabro("cancel", "slow").returncode == 0
        assert terminal.end() == 1
    assert "\x1b" not in terminal.shown


def test_ctrl_c_at_a_question_detaches_and_the_end_of_input_stays(home: Home) -> None:
    with home.terminal("run", home.write("gate.fabro", GATE)) as terminal:
        terminal.wait_for("answer (number, key or label): ")
        terminal.type(CTRL_D)
        terminal.wait_for("answer it with: fabro answer")
        terminal.type(CTRL_C)
        terminal.wait_for("detached; the run goes on")
        assert terminal.end() == 130
    with home.terminal("attach", "gate") as terminal:
        terminal.wait_for("answer (number, key or label): ")
        terminal.type(CTRL_C)
        terminal.wait_for("detached; the run goes on")
        assert terminal.end() == 130
    assert home.fabro("cancel", "gate").returncode == 0


def test_colour_is_for_terminals_that_want_it(home: Home) -> None:
    file = home.write("hello.fabro", HELLO)
    with home.terminal("run", file, NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert "\x1b[32m" in terminal.shown
    with home.terminal("run", file) as terminal:
        assert terminal.end() == 0
    assert "\x1b[3" not in terminal.shown
    assert "hi@1  command" in terminal.shown


def test_cancelling_all_asks(home: Home) -> None:
    assert home.fabro("run", home.write("slow.fabro", SLOW), "--detach").returncode == 0
    with home.terminal("cancel", "--all") as terminal:
        terminal.wait_for("runs? [y/N] ")
        terminal.type("\n")
        terminal.wait_for("nothing was cancelled")
        assert terminal.end() == 0
    with home.terminal("cancel", "--all") as terminal:
        terminal.wait_for("runs? [y/N] ")
        terminal.type("y\n")
        assert terminal.end() == 0
