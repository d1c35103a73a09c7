"""One spawned command: its process, its pipes, its end. Above: `local`. Below: `pipes`, the operating system.

Spawning is one synchronous step: a cancellation comes before it or after it, never within.
"""

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from fabro.sandbox.pipes import InputPipe, OutputPipe


class Child:
    """A command that runs as the leader of a session and group of its own.

    Args:
        argv: program and arguments.
        cwd: the folder where it starts.
        environment: all of its environment.
        stdin: what it can read, None for the null device.
        take: gets its standard output and error, in order; must not raise.

    Raises:
        OSError: it can't be started; `explain` puts that into words.
        ValueError: an argument or a variable holds what the system can't pass on.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str,
        environment: Mapping[str, str],
        stdin: bytes | None,
        take: Callable[[bytes], None],
    ) -> None:
        self.exited = anyio.Event()
        """Set when the process has ended and was reaped. Processes that it started may be left."""
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
        self.group = self._process.pid
        self._loop = asyncio.get_running_loop()
        self._watch()
        assert self._process.stdout
        self.output = OutputPipe(self._process.stdout, take)
        self._input = InputPipe(self._process.stdin, stdin or b"") if self._process.stdin else None

    @property
    def signal_number(self) -> int | None:
        """The signal that ended the process, if one did."""
        status = self._process.returncode
        return -status if status is not None and status < 0 else None

    @property
    def exit_code(self) -> int | None:
        """From 0 to 255, as shells have it: 128 + n for signal n. None before the end."""
        number = self.signal_number
        return self._process.returncode if number is None else 128 + number

    @property
    def left_somebody(self) -> bool:
        """Whether the process has ended but something is left of its group, be it only a zombie."""
        try:
            os.killpg(self.group, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def close(self) -> None:
        """Let go of the pipes. A process that can't even be killed is reaped whenever it does end."""
        if self._input is not None:
            self._input.close()
        self.output.finish()

    def kill(self) -> None:
        """End the group by force, now; its number must still be its own."""
        try:
            os.killpg(self.group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def _watch(self) -> None:
        """Reap at the end: told by a descriptor, or by a thread where there is none to be had (macOS)."""
        try:
            descriptor = os.pidfd_open(self.group)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait, name=f"wait-{self.group}", daemon=True).start()
        else:
            self._loop.add_reader(descriptor, self._reap, descriptor)

    def _reap(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._process.wait()
        self.exited.set()

    def _wait(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody is waiting
            self._loop.call_soon_threadsafe(self.exited.set)


def explain(error: Exception, argv: tuple[str, ...], *, cwd: str, path: str) -> str:
    """Why a command could not be started, in a sentence for people. `path` is the PATH that was searched."""
    program = argv[0] if argv else ""
    if not program:
        return "There is no command: its first word is empty."
    if not isinstance(error, OSError):
        return f"Can't start {program!r}: {error}."
    if not Path(cwd).is_dir():
        return f"Can't start {program!r}: the working directory {cwd!r} is not there any more."
    if error.errno == errno.E2BIG:
        return (
            f"Can't start {program!r}: arguments and environment are too long for the system; pass data by input."
        )
    if error.errno == errno.ENOENT and "/" not in program:
        return f"Can't start {program!r}: there is no such command. PATH is {path!r}."
    if error.errno == errno.ENOENT and Path(cwd, program).exists():
        return f"Can't start {program!r}: the interpreter that its first line names is missing."
    return f"Can't start {program!r}: {error.strerror or error}."
