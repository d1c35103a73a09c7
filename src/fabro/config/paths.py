"""Where things lie on a machine. Above: client, server, CLI. Below: errors.

`FABRO_HOME` (default `~/.fabro`) holds the socket and the storage; `FABRO_STORAGE_DIR` moves the storage, and the
socket with it, so that each storage folder has a server of its own.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabro.errors import InvalidInput

LONGEST_SOCKET_PATH = 100
"""Bytes of a path that every platform takes for a unix socket."""


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
        InvalidInput: neither a home folder nor a storage folder is known (`no_home`).
    """
    chosen = storage_dir or environment.get("FABRO_STORAGE_DIR")
    if chosen:
        storage = Path(os.path.abspath(chosen))  # noqa: PTH100 - symbolic links in the name stay as they are
        return Paths(storage=storage, socket=_socket(storage / "fabro.sock"))
    home = _home(environment)
    return Paths(storage=home / "storage", socket=_socket(home / "fabro.sock"))


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
    return Path("/tmp") / f"fabro-{os.getuid()}" / f"{digest}.sock"  # noqa: S108 - the folder is checked when bound
