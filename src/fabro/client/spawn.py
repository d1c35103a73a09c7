"""The local server as a child process that outlives its parent. Above: `local_server`. Below: the system."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO, cast

from fabro.config.paths import Paths, find_paths
from fabro.errors import Conflict, FabroError, InvalidInput, StorageError, Unavailable
from fabro.sandbox.keeper_main import OWNER_VARIABLE

TAIL_BYTES = 2000
"""How much of a log is shown."""


def spawn(
    paths: Paths, environment: Mapping[str, str], arguments: Sequence[str], said: IO[bytes]
) -> "subprocess.Popen[bytes]":
    """Start a server in a session of its own. What it prints before its log is open goes to `said`.

    A command of a run may be what starts it: it must not end with that run, so the mark of the run's owner goes.
    """
    where = [] if _is_usual(paths, environment) else ["--storage-dir", str(paths.storage)]
    command = [sys.executable, "-P", "-m", "fabro", "--json", *where, "server", "start", "--background-child"]
    process = subprocess.Popen(
        [*command, *arguments],
        env={name: value for name, value in environment.items() if name != OWNER_VARIABLE},
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
    )
    Thread(target=process.wait, name="fabro server", daemon=True).start()  # so that no zombie stays
    return process


def explain_failure(exit_code: int | None, said: IO[bytes], paths: Paths) -> FabroError:
    """Why a server did not come up: its own error, or what it printed last."""
    said.seek(0)
    printed = said.read().decode(errors="replace").strip()
    told = _told(printed.rpartition("\n")[2])
    if told is not None:
        return told
    if not printed:
        printed = _tail(paths.log_file)
    state = "does not answer" if exit_code is None else f"has ended with exit code {exit_code}"
    shown = printed[-TAIL_BYTES:]
    return Unavailable(
        f"the local server was started and {state}" + (f"; it said last:\n{shown}" if shown else ""),
        code="server_start_failed",
        hint=f"Its log is {paths.log_file}; `fabro server start` shows what happens.",
    )


def _is_usual(paths: Paths, environment: Mapping[str, str]) -> bool:
    try:
        return find_paths(environment) == paths
    except InvalidInput:
        return False


def _told(line: str) -> FabroError | None:
    """The error in a command's JSON."""
    try:
        body: object = json.loads(line)
    except ValueError:
        return None
    error = cast("dict[str, object]", body).get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    fields = cast("dict[str, object]", error)
    code, hint = str(fields.get("code")), fields.get("hint")
    kind: type[FabroError] = Unavailable
    if code.endswith("_in_use"):
        kind = Conflict
    elif code.startswith(("storage", "format", "disk")):
        kind = StorageError
    return kind(
        f"the local server can't be started: {fields.get('message')}", code=code, hint=str(hint) if hint else None
    )


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - TAIL_BYTES))
            return log.read().decode(errors="replace").strip()
    except OSError:
        return ""
