"""Where things lie on a machine. Above: client, server, CLI. Below: errors.

`FABRO_HOME` (default `~/.fabro`) holds the socket and the storage; `FABRO_STORAGE_DIR` moves the storage, and the
socket with it, so that each storage folder has a server of its own.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabro.errors import InvalidInput

LONGEST_SOCKET_PATH = 100
"""Bytes of a path that every platform takes for a unix socket."""
TEMPORARY = Path("/tmp")  # noqa: S108 - what lies there is checked by `check_fallback`
"""Where the sockets lie whose own paths are too long; every user may write there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """The folders and the socket of one local server."""

    storage: Path
    socket: Path

    @property
    def log_file(self) -> Path:
        """Where a server that runs in the background writes its log."""
        return self.storage / "logs" / "server.log"


def find_paths(environment: Mapping[str, str], *, storage_dir: str | None = None) -> Paths:
    """The paths that a command uses.

    Raises:
        InvalidInput: neither a home folder nor a storage folder is known (`no_home`), or as `check_fallback` says.
    """
    chosen = storage_dir or environment.get("FABRO_STORAGE_DIR")
    if chosen:
        storage = Path(os.path.abspath(chosen))  # noqa: PTH100 - symbolic links in the name stay as they are
        return Paths(storage=storage, socket=_socket(storage / "fabro.sock"))
    home = _home(environment)
    return Paths(storage=home / "storage", socket=_socket(home / "fabro.sock"))


def fallback_folder() -> Path:
    """The folder of this user's sockets whose own paths are too long."""
    return TEMPORARY / _fallback_name()


def check_fallback(socket: Path) -> None:
    """See that a socket in the temporary folder is really this user's, as anybody could have made its folder first.

    The folder is known by its name. One that is not there yet passes, and so does a socket in any other folder.

    Raises:
        InvalidInput: `socket_folder_unsafe`.
    """
    folder = socket.parent
    if folder.name != _fallback_name():
        return
    try:
        about = folder.lstat()
    except FileNotFoundError:
        return
    fault = _fault(about)
    if fault:
        raise InvalidInput(
            f"{folder}, the folder of the socket, {fault}; wanted a folder of yours with mode 700",
            code="socket_folder_unsafe",
            hint="Remove it, or choose a shorter --storage-dir or FABRO_HOME: the socket then lies there.",
        )


def _fallback_name() -> str:
    return f"fabro-{os.getuid()}"


def _fault(about: os.stat_result) -> str:
    if stat.S_ISLNK(about.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(about.st_mode):
        return "is no folder"
    if about.st_uid != os.getuid():
        return f"belongs to another user (number {about.st_uid})"
    mode = stat.S_IMODE(about.st_mode) & 0o777
    return "" if mode == 0o700 else f"has mode {mode:03o}"


def _home(environment: Mapping[str, str]) -> Path:
    own = environment.get("FABRO_HOME")
    if own:
        return Path(os.path.abspath(own))  # noqa: PTH100 - as above
    user = environment.get("HOME")
    if not user or not Path(user).is_absolute():
        raise InvalidInput(
            "there is no home folder: HOME is not set" if not user else f"HOME is {user!r}, no absolute path",
            code="no_home",
            hint="Set HOME, or FABRO_HOME, or pass --storage-dir.",
        )
    return Path(user) / ".fabro"


def _socket(wanted: Path) -> Path:
    """The path itself, or, where it is too long for a socket, a short one in the temporary folder."""
    if len(os.fsencode(wanted)) <= LONGEST_SOCKET_PATH:
        return wanted
    digest = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    socket = fallback_folder() / f"{digest}.sock"
    check_fallback(socket)
    return socket
