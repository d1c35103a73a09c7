"""Connections to the database file, and SQLite's errors in our words. Above: writer, readers. Below: sqlite3."""

import contextlib
import os
import sqlite3
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

from fabro.errors import StorageError

BUSY_TIMEOUT = timedelta(seconds=5)
"""How long a statement waits, unless told otherwise, for another program that has the file locked."""
_CACHE_KIB = 16 * 1024
_WAL_LIMIT_BYTES = 64 * 1024 * 1024

_SAYINGS = {
    "SQLITE_FULL": ("disk_full", "the disk is full", "Make room; nothing that was acknowledged is lost."),
    "SQLITE_READONLY": ("storage_read_only", "it can't be written", "Check the owner and mode of the folder."),
    "SQLITE_CANTOPEN": ("storage_error", "it can't be opened", "Check that the folder exists and is yours."),
    "SQLITE_PERM": ("storage_error", "access is denied", "Check the owner and mode of the file."),
    "SQLITE_CORRUPT": ("storage_corrupt", "the file is damaged", "Restore the folder from a backup."),
    "SQLITE_NOTADB": ("storage_corrupt", "it is no SQLite database", "Restore it, or use another --storage-dir."),
    "SQLITE_BUSY": ("storage_locked", "another program has it locked", "End that program, then try again."),
    "SQLITE_LOCKED": ("storage_locked", "another program has it locked", "End that program, then try again."),
    "SQLITE_IOERR": ("storage_error", "reading or writing failed", "Check the disk and its quota."),
}


def connect(path: Path, *, busy_timeout: timedelta = BUSY_TIMEOUT, read_only: bool = False) -> sqlite3.Connection:
    """A connection that commits only when told to, for use by one thread at a time. Text comes from it as bytes, so
    that damage in one row can't fail the others.

    Raises:
        sqlite3.Error: the file can't be opened.
    """
    connection = sqlite3.connect(
        path,
        timeout=busy_timeout.total_seconds(),
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        connection.text_factory = bytes
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        on_failure.pop_all()
    return connection


def make_file(path: Path) -> None:
    """Make the database file, empty and for its owner only, where there is none; SQLite gives its other files the
    same mode.

    Raises:
        OSError: the folder does not take it.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


@contextlib.contextmanager
def told_as_storage_errors(path: Path) -> Generator[None]:
    """Turn what goes wrong inside the block with SQLite or its file into a `StorageError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise storage_error(path, error) from error
    except OSError as error:
        raise StorageError(
            f"database {path}: {error.strerror or error}", hint="Check that the folder exists and is yours."
        ) from error


def storage_error(path: Path, error: sqlite3.Error) -> StorageError:
    """The error in words, with SQLite's own behind them."""
    kind = getattr(error, "sqlite_errorname", None) or ""
    for name, (code, saying, hint) in _SAYINGS.items():
        if kind == name or kind.startswith(f"{name}_"):
            return StorageError(f"database {path}: {saying} ({error})", code=code, hint=hint)
    return StorageError(f"database {path}: {error}")
