"""The server's log, written by a process of its own, since it takes the standard streams."""

import subprocess
import sys
from pathlib import Path

from fabro.server.logging import LARGEST_FILE, OLD_FILES

PROGRAM = """
import logging, sys
from pathlib import Path
import structlog
from fabro.server.logging import configure_logging
configure_logging(Path(sys.argv[1]) if sys.argv[1:] else None)
log = structlog.get_logger("fabro.test")
log.info("hello", text='a "b"\\nc')
log.debug("hidden")
logging.getLogger("uvicorn.error").info("hidden")
logging.getLogger("other").warning("from %s", "elsewhere")
print("printed", flush=True)
try:
    raise LookupError("why")
except LookupError:
    log.exception("failed")
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 0):
    log.info("x" * 10_000)
"""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True, timeout=60
    )


def assert_complete(log: str) -> None:
    assert 'level=info event=hello text="a \\"b\\"\\nc"' in log
    assert 'level=warning event="from elsewhere"' in log
    assert "\nTraceback (most recent call last)" in log
    assert "\nLookupError: why" in log
    assert "hidden" not in log


def test_in_the_foreground_the_log_is_on_standard_error() -> None:
    ended = run()
    assert_complete(ended.stderr)
    assert ended.stdout == "printed\n"


def test_in_the_background_everything_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "server.log"
    ended = run(str(file))
    assert (ended.stdout, ended.stderr) == ("", "")
    assert_complete(file.read_text())
    assert "printed\n" in file.read_text()


def test_the_file_is_rotated_and_bounded(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "server.log"
    run(str(file), str(LARGEST_FILE * (OLD_FILES + 3) // 10_000))
    files = sorted(one.name for one in file.parent.iterdir())
    assert files == ["server.log", *(f"server.log.{number}" for number in range(1, OLD_FILES + 1))]
    assert all(one.stat().st_size <= LARGEST_FILE for one in file.parent.iterdir())
