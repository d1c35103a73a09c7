"""Commands as processes, on pipes and on terminals, with a server of their own."""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from fabro.store.folder import read_holder

SECONDS = 30.0
"""How long a command, or a text on a terminal, may take to come."""
PASSED_ON = ("PATH", "LANG", "TMPDIR", "PYTHONPATH")
COMMAND = (sys.executable, "-m", "fabro")


@dataclass(frozen=True, kw_only=True)
class Home:
    """An environment with a server of its own, and a folder to work in."""

    environment: Mapping[str, str]
    folder: Path

    def fabro(
        self,
        *arguments: str,
        stdin: str | None = None,
        folder: Path | None = None,
        **environment: str,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end; its standard input is empty unless given."""
        return subprocess.run(
            [*COMMAND, *arguments],
            input=stdin or "",
            env={**self.environment, **environment},
            cwd=folder or self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def terminal(self, *arguments: str, **environment: str) -> "Terminal":
        """Begin a command on a terminal of its own."""
        return Terminal([*COMMAND, *arguments], {**self.environment, **environment}, self.folder)

    def write(self, name: str, text: str) -> str:
        """A file in the folder; its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name


class Terminal:
    """A command on a pseudo terminal: type into it, wait for what it shows."""

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        self.shown = ""
        self._waited = 0
        # A session leader's first terminal becomes the one whose Ctrl-C reaches it.
        script = 'exec "$@" <"$0" >"$0" 2>&1'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", script, os.ttyname(slave), *command],
            env=environment,
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(SECONDS)
        os.close(self._master)

    def type(self, text: str) -> None:
        """Press keys; `\\x03` is Ctrl-C."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """Read until the text stands behind what was waited for last; all that stands there."""
        while text not in self.shown[self._waited :]:
            assert self._read(), f"the terminal was closed before {text!r} came: {self.shown!r}"
        begun, self._waited = self._waited, self.shown.index(text, self._waited) + len(text)
        return self.shown[begun:]

    def end(self) -> int:
        """Read what is still shown; the exit code."""
        while self._read():
            pass
        return self._process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], SECONDS)
        assert ready, f"nothing more came: {self.shown!r}"
        try:
            piece = os.read(self._master, 65536)
        except OSError:
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    """A home whose server lives as long as the module's tests."""
    with tempfile.TemporaryDirectory(prefix="fabro-", dir="/tmp") as name:
        root = Path(name).resolve()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment |= {"HOME": str(root), "NO_COLOR": "1", "TERM": "xterm", "LANG": "C.UTF-8"}
        folder = root / "wörk dir"
        folder.mkdir()
        made = Home(environment=environment, folder=folder)
        yield made
        server = read_holder(root / ".fabro" / "storage")
        stopped = made.fabro("server", "stop")
        if stopped.returncode != 0 and server is not None:
            os.kill(server.pid, signal.SIGKILL)
        assert stopped.returncode == 0, stopped.stderr
