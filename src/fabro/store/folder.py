"""The folder in which a server keeps everything. Above: assembly, `doctor`. Below: the operating system's locks.

One process at a time may hold it. The lock is the operating system's, so that it ends with the process however that
ends; what the lock file says is only information for people. A folder that holds things and does not carry our mark
is another program's, and is never touched.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from fabro import installed_version
from fabro.clock import SystemClock, to_text
from fabro.errors import Conflict, StorageError

PRODUCT = "fabro-python"
FORMAT = 1
MARKER = "fabro-storage.json"
_LOCK = "lock"
_OTHER = "Pass another --storage-dir."
_MAX_INFORMATION = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Who holds a storage folder, in the holder's own words; `started` is RFC 3339, `socket` empty where none."""

    pid: int
    version: str
    started: str
    socket: str = ""


class StorageFolder:
    """A storage folder that this process holds until `close`. Made by `open_folder`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.db = path / "db"
        self.blobs = path / "blobs"
        self.runs = path / "runs"
        self.logs = path / "logs"
        self._lock: int | None = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def tell_holder(self, socket: str) -> None:
        """Say in the lock file who holds the folder; a disk too full for that is no reason to stop.

        The new line is written over the old one, so that at no moment, and on no full disk, the file is empty.
        """
        if self._lock is None:
            return
        holder = Holder(
            pid=os.getpid(), version=installed_version(), started=to_text(SystemClock().now()), socket=socket
        )
        line = json.dumps(asdict(holder)).encode() + b"\n"
        with contextlib.suppress(OSError):
            if os.pwrite(self._lock, line, 0) == len(line):
                os.ftruncate(self._lock, len(line))

    def close(self) -> None:
        """Let the folder go; once is enough, and again does nothing."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def open_folder(path: Path, *, socket: str = "") -> StorageFolder:
    """Hold a storage folder, which is made where there is none.

    Args:
        path: the folder; its parent must exist.
        socket: where the holder can be reached, for those who find the folder in use.

    Raises:
        StorageError: it can't be made or written, is no folder, belongs to another program (`storage_foreign`) or
            to a newer version (`format_too_new`).
        Conflict: `storage_in_use`, by the process that the message names.
    """
    with _told(path):
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:
            raise StorageError(f"storage folder {path} is no folder", hint=_OTHER) from None
        except FileNotFoundError:
            missing = not path.parent.exists()
            reason = f"{path.parent} does not exist" if missing else "no folder can be made there"
            raise StorageError(f"storage folder {path} can't be made: {reason}", hint=_OTHER) from None
        _claim(path)
        with contextlib.ExitStack() as on_failure:
            folder = StorageFolder(path, _take_lock(path))
            on_failure.callback(folder.close)
            folder.tell_holder(socket)
            _check_mark(path)
            for inner in (folder.db, folder.blobs, folder.runs, folder.logs):
                inner.mkdir(mode=0o700, exist_ok=True)
            on_failure.pop_all()
    return folder


def read_holder(path: Path) -> Holder | None:
    """Who says that they hold the folder, None where the lock file is missing or says nothing of use.

    The answer may be out of date; `find_holder` tells whether the folder is held.
    """
    try:
        with (path / _LOCK).open("rb") as file:
            said = _json_object(file.read(_MAX_INFORMATION).partition(b"\n")[0])
    except OSError:
        return None
    pid, socket = said.get("pid"), said.get("socket")
    if not isinstance(pid, int):
        return None
    version, started = str(said.get("version")), str(said.get("started"))
    return Holder(pid=pid, version=version, started=started, socket=str(socket or ""))


def find_holder(path: Path) -> Holder | None:
    """Who holds the folder now, None where nobody does. This writes nothing, and any number may ask at once.

    Raises:
        Conflict: `storage_in_use`: it is held, and the lock file does not say by whom.
        StorageError: it can't be read, or belongs to another program (`storage_foreign`).
    """
    with _told(path):
        if not (_is_marked(path) and _is_locked(path)):
            return None
    holder = read_holder(path)
    if holder is None:
        raise _in_use(path)
    return holder


def _is_locked(path: Path) -> bool:
    try:
        lock = os.open(path / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # A shared lock, as of two that ask at once neither may take the other for the holder.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _is_marked(path: Path) -> bool:
    """Whether our mark is there, be it as yet empty.

    Raises:
        StorageError: `storage_foreign`: the mark is another program's.
    """
    try:
        written = (path / MARKER).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if written:
        _read_format(path, written)
    return True


def _claim(path: Path) -> None:
    """Put our mark, as yet empty, into an empty folder; in any other it must be there.

    Raises:
        StorageError: `storage_foreign`.
    """
    if _is_marked(path):
        return
    if any(path.iterdir()) and not (path / MARKER).exists():
        raise _foreign(path, f"it is not empty and has no {MARKER}")
    os.close(os.open(path / MARKER, os.O_WRONLY | os.O_CREAT, 0o600))


def _take_lock(path: Path) -> int:
    with contextlib.ExitStack() as on_failure:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        on_failure.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(path) from None
        on_failure.pop_all()
    return lock


def _check_mark(path: Path) -> None:
    """Read our mark, and write it where this folder has only just been claimed.

    Raises:
        StorageError: `format_too_new`, or as `_read_format` says.
    """
    written = (path / MARKER).read_bytes()
    if not written:
        with (path / MARKER).open("wb") as file:
            file.write(json.dumps({"product": PRODUCT, "format": FORMAT}).encode())
            file.flush()
            os.fsync(file.fileno())
        return
    number = _read_format(path, written)
    if number > FORMAT:
        raise StorageError(
            f"storage folder {path} is of a newer version (format {number}; this one knows up to {FORMAT})",
            code="format_too_new",
            hint=f"Upgrade fabro, or: {_OTHER}",
        )


def _read_format(path: Path, written: bytes) -> int:
    """The number of the format in a mark.

    Raises:
        StorageError: `storage_foreign`.
    """
    mark = _json_object(written)
    number = mark.get("format")
    if mark.get("product") != PRODUCT or not isinstance(number, int):
        raise _foreign(path, f"its {MARKER} is not ours")
    return number


def _in_use(path: Path) -> Conflict:
    holder = read_holder(path)
    who = f"process {holder.pid} (fabro {holder.version}, since {holder.started})" if holder else "another process"
    return Conflict(
        f"storage folder {path} is in use by {who}",
        code="storage_in_use",
        hint=f"Use the server that runs there or end it. {_OTHER}",
        details=asdict(holder) if holder else {},
    )


def _foreign(path: Path, reason: str) -> StorageError:
    return StorageError(
        f"storage folder {path} belongs to another program: {reason}", code="storage_foreign", hint=_OTHER
    )


def _json_object(content: bytes) -> Mapping[str, object]:
    try:
        value: object = json.loads(content)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


@contextlib.contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"storage folder {path}: {error.strerror or error}", hint=_OTHER) from error
