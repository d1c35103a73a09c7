"""Sockets to listen on: a unix socket in a private folder, a TCP port on loopback. Above: the process. Below: the
system.

Whoever binds the unix socket holds the storage folder's lock, so a socket file on which nobody answers is left over
from a server that was killed, and is replaced.
"""

import errno
import os
import socket
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabro.config.paths import check_fallback
from fabro.errors import Conflict, FabroError, InvalidInput, StorageError
from fabro.server.guard import is_loopback

BACKLOG = 512
_ANSWER_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A TCP address on loopback; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address in `host:port`; `localhost` is 127.0.0.1.

    Raises:
        InvalidInput: `listen_invalid`, or `listen_not_loopback` for an address that others can reach.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]").lower()
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 1 << 16):
        raise InvalidInput(
            f"--listen is {text!r}; wanted HOST:PORT", code="listen_invalid", hint="Such as 127.0.0.1:8765."
        )
    if not is_loopback(host):
        raise InvalidInput(
            f"--listen is {text!r}, which other machines could reach, and this server does not ask who they are",
            code="listen_not_loopback",
            hint="Listen on 127.0.0.1, and reach it from elsewhere through an SSH tunnel.",
        )
    return Address(host="127.0.0.1" if host == "localhost" else host, port=int(port))


@contextmanager
def unix_listener(path: Path) -> Generator[socket.socket]:
    """A listening unix socket that only this user can reach; its file goes with the block, however that ends.

    Raises:
        Conflict: `socket_in_use`: somebody answers there, or the path is something else;
            `socket_folder_not_yours`: its folder is another user's.
        InvalidInput: as `check_fallback` says.
        StorageError: it can't be made.
    """
    _make_folder(path)
    _remove_stale(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with _told(f"socket {path}"):
            listener.bind(os.fspath(path))
            made = path.lstat()
        try:
            with _told(f"socket {path}"):
                path.chmod(0o600)
                listener.listen(BACKLOG)
            yield listener
        finally:
            _remove_own(path, made)


@contextmanager
def tcp_listener(address: Address) -> Generator[socket.socket]:
    """A listening TCP socket.

    Raises:
        Conflict: `port_in_use`.
        StorageError: it can't be made.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with _told(f"address {address}"):
            listener.bind((address.host, address.port))
            listener.listen(BACKLOG)
        yield listener


def url_of(listener: socket.socket) -> str:
    """How clients name a listener: a path, or a URL."""
    if listener.family == socket.AF_UNIX:
        return str(listener.getsockname())
    host, port = listener.getsockname()[:2]
    return f"http://{Address(host=host, port=port)}"


def _make_folder(path: Path) -> None:
    """Make the folder of a socket where there is none. One that is there stays as it is, and may be a link."""
    folder = path.parent
    with _told(f"folder {folder}"):
        try:
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)
        except FileExistsError:
            pass
        check_fallback(path)
        about = folder.stat()
    if not stat.S_ISDIR(about.st_mode):
        raise StorageError(f"{folder}, the folder of the socket, is no folder", code="listen_failed")
    if about.st_uid != os.getuid():
        raise Conflict(
            f"{folder}, the folder of the socket, belongs to another user (number {about.st_uid})",
            code="socket_folder_not_yours",
            hint="Use another --storage-dir or FABRO_HOME.",
        )


def _remove_stale(path: Path) -> None:
    with _told(f"socket {path}"):
        if not path.is_socket():
            if path.exists() or path.is_symlink():
                raise Conflict(f"{path} exists and is no socket", code="socket_in_use", hint="Move it away.")
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
            visitor.settimeout(_ANSWER_SECONDS)
            reason = visitor.connect_ex(os.fspath(path))
        if reason != errno.ECONNREFUSED:
            raise Conflict(
                f"another program answers on {path}",
                code="socket_in_use",
                hint="End it, or use another --storage-dir.",
            )
        path.unlink()


def _remove_own(path: Path, made: os.stat_result) -> None:
    try:
        if path.lstat().st_ino == made.st_ino:
            path.unlink()
    except OSError:
        return


@contextmanager
def _told(what: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _explained(what, error) from error


def _explained(what: str, error: OSError) -> FabroError:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"{what} is in use by another program", code="port_in_use", hint="Choose another, or end that program."
        )
    return StorageError(f"{what}: {error.strerror or error}", code="listen_failed")
