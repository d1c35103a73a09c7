"""The fixtures of conftest.py keep what they promise, seen from a test run of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

LEAVES_A_CHILD = """
import subprocess, sys
from pathlib import Path

CHILDREN = []

def test_leaves_a_child():
    CHILDREN.append(subprocess.Popen([sys.executable, "-c", "import signal; signal.alarm(60); signal.pause()"]))
    Path("pid").write_text(str(CHILDREN[0].pid))
"""
LEAVES_A_SERVER = """
import subprocess, sys
from pathlib import Path

SERVER = "import signal; signal.alarm(60); signal.pause()"
START = f'''
import subprocess, sys
quiet = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.DEVNULL)
print(subprocess.Popen([sys.executable, "-c", "{SERVER}"], start_new_session=True, **quiet).pid)
'''

def test_leaves_a_server(fabro_home):
    started = subprocess.run([sys.executable, "-c", START], env=fabro_home, capture_output=True, timeout=30)
    Path("pid").write_text(started.stdout.decode())
"""
SEES_NO_KEY = """
import os
from pathlib import Path

def test_sees_no_key(fabro_home):
    assert os.environ["OPENAI_API_KEY"] == "secret"
    assert "secret" not in fabro_home.values()
    assert Path(fabro_home["FABRO_HOME"]).is_relative_to(fabro_home["HOME"])
    assert len(fabro_home["FABRO_HOME"]) < 40
    assert os.environ.get("HOME") != fabro_home["HOME"]
"""
ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/",
    "OPENAI_API_KEY": "secret",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run one test in a folder that has this repository's conftest.py."""
    shutil.copy(Path(__file__).parent / "conftest.py", folder)
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
def test_a_child_that_outlives_its_test_fails_the_run_and_is_ended(tmp_path: Path) -> None:
    ended = run(tmp_path, LEAVES_A_CHILD)
    assert ended.returncode == 1
    assert "processes that tests left behind" in ended.stdout
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_a_server_that_a_command_left_in_its_home_is_ended(tmp_path: Path) -> None:
    ended = run(tmp_path, LEAVES_A_SERVER)
    assert ended.returncode == 0, ended.stdout
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_the_home_is_short_and_holds_nothing_of_the_users(tmp_path: Path) -> None:
    ended = run(tmp_path, SEES_NO_KEY)
    assert ended.returncode == 0, ended.stdout
