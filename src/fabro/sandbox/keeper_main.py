"""Ends a server's commands when the server is gone. Above: `keeper`, which runs this file as a program and shares
its `strike`. Below: the operating system; standard library only, and little of that, to start fast and stay small.

The program reads lines from standard input, whose other end only the server holds: `+GROUP` when a process group
begins and `-GROUP` when it has ended. At the end of input the server has exited or was killed. Then every group
that is left is ended, and on Linux also every process whose environment carries the server's marker: that finds
those that made a session of their own, and those whose `+GROUP` was never written. On systems without /proc
(macOS) only groups are found; on Linux, what cleared its environment and left its group is not.
"""

import os
import signal
import sys
import time
from collections.abc import Collection

OWNER_VARIABLE = "FABRO_OWNER"
"""The environment variable that marks a command and all that it starts: `server/run/number`."""
_GRACE_SECONDS = 1.0
_LIMIT_SECONDS = 4.0
_QUIET_SECONDS = 0.1
"""A child between fork and exec does not carry the marker yet, so one empty look is not enough."""
_POLL_SECONDS = 0.02


def command_needle(marker: str) -> bytes:
    """What `strike` looks for to find the processes of one command."""
    return f"\0{OWNER_VARIABLE}={marker}\0".encode()


def prefix_needle(prefix: str) -> bytes:
    """What `strike` looks for to find the processes of every command whose marker begins so: `OWNER/` are those of
    one server, `OWNER/RUN/` those of one run of it.
    """
    return f"\0{OWNER_VARIABLE}={prefix}".encode()


def strike(groups: Collection[int], needle: bytes | None, number: int) -> bool:
    """Signal every member of `groups` and every process whose environment holds `needle`. Signal 0 only looks.

    Returns:
        Whether anybody was there; zombies do not count. One look can miss a process that is just replacing its
        program, as it has no environment then.
    """
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 (pathlib would double this program's memory)
        return sum(_signal_group(group, number) for group in groups) > 0
    found: set[int] = set()
    strays = 0
    for pid in _process_ids():
        group = _live_group(pid)
        if group in groups:
            found.add(group)
        elif group and needle is not None and _carries(pid, needle):
            strays += _signal(pid, number)
    for group in found:
        _signal_group(group, number)  # in one stroke, however fast its members multiply
    return bool(found) or strays > 0


def _process_ids() -> list[int]:
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != own]  # noqa: PTH208


def _live_group(pid: int) -> int:
    """The process group of a process; 0 when there is no such process any more, or only its zombie."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return 0 if not fields or fields[0] in (b"Z", b"X") else int(fields[2])


def _carries(pid: int, needle: bytes) -> bool:
    return needle in b"\0" + _read(f"/proc/{pid}/environ")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:  # it has ended, or belongs to somebody else
        return b""


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _follow(pipe: int) -> set[int]:
    """The groups that have begun and not ended when the input ends."""
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(pipe, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
    return groups


def _end(groups: set[int], needle: bytes) -> None:
    """Ask once, wait for the grace, then insist; until nobody has been there for a moment."""
    start = quiet_since = time.monotonic()
    number = signal.SIGTERM
    while (now := time.monotonic()) < start + _LIMIT_SECONDS and now < quiet_since + _QUIET_SECONDS:
        if strike(groups, needle, number):
            quiet_since = now
        time.sleep(_POLL_SECONDS)
        number = 0 if now < start + _GRACE_SECONDS else signal.SIGKILL


def main() -> None:
    """Follow the server to its end, deaf to the signals by which terminals and service managers end whole trees."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = _follow(0)
    _end(groups, prefix_needle(f"{sys.argv[1]}/"))


if __name__ == "__main__":
    main()
