"""Bring a database file up to date. Above: opening a store. Below: the schema's files.

A file carries its number of migrations (`user_version`) and our mark (`application_id`). Before an existing file is
changed, a copy of it is put beside it.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fabro.errors import StorageError
from fabro.store.sqlite.statements import migrations, schema

APPLICATION_ID = 0x46_61_62_72
"""`Fabr` in ASCII."""


def migrate(connection: sqlite3.Connection, path: Path, scripts: Sequence[str] | None = None) -> None:
    """Make the tables, or change those of an older version into today's, each step in a transaction of its own.

    Args:
        connection: to the file.
        path: the file, for messages and for the copy's name, `<path>.before-<number>`.
        scripts: the migrations, today's when left out.

    Raises:
        StorageError: the file is another program's, or of a newer version.
        sqlite3.Error: a step failed; the file is as that step found it.
    """
    steps = migrations() if scripts is None else scripts
    done = _number(connection, "user_version")
    if _is_empty(connection):
        _run(connection, schema() if scripts is None else "".join(steps), len(steps))
        return
    if _number(connection, "application_id") != APPLICATION_ID:
        raise StorageError(
            f"database {path} belongs to another program",
            code="storage_foreign",
            hint="Pass another --storage-dir.",
        )
    if done > len(steps):
        raise StorageError(
            f"database {path} is of a newer version (format {done}; this one knows up to {len(steps)})",
            code="format_too_new",
            hint="Upgrade fabro.",
        )
    if done < len(steps):
        _back_up(connection, path, done)
    for number in range(done, len(steps)):
        _run(connection, steps[number], number + 1)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(number)


def _back_up(connection: sqlite3.Connection, path: Path, done: int) -> None:
    copy = path.with_name(f"{path.name}.before-{done + 1}")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    connection.execute("VACUUM INTO ?", (str(copy),))
    descriptor = os.open(copy, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run(connection: sqlite3.Connection, script: str, number: int) -> None:
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE; {script}\nPRAGMA user_version = {number};"
            f" PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        )
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
