"""Bringing a database up to date."""

import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from fabro.errors import StorageError
from fabro.store.sqlite.connection import connect, make_file
from fabro.store.sqlite.migrate import APPLICATION_ID, migrate
from fabro.store.sqlite.statements import migrations, statements

NEXT = (*migrations(), "CREATE TABLE notes (text TEXT) STRICT;", "ALTER TABLE notes ADD COLUMN at_ms INTEGER;")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    make_file(path)
    with closing(connected(path)) as made:
        yield made


def connected(path: Path) -> sqlite3.Connection:
    made = connect(path)
    made.text_factory = str
    return made


def shape(connection: sqlite3.Connection) -> Sequence[tuple[object, ...]]:
    """All that a schema is, comments and spacing of its text aside."""
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()
    marks = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id")]
    return [*((kind, name, table, " ".join((sql or "").split())) for kind, name, table, sql in found), *marks]


def test_a_fresh_schema_equals_the_migrated_one(connection: sqlite3.Connection, path: Path, tmp_path: Path) -> None:
    migrate(connection, path)
    other = tmp_path / "other.db"
    make_file(other)
    with closing(connected(other)) as migrated:
        for count in range(1, len(migrations()) + 1):
            migrate(migrated, other, migrations()[:count])
        assert shape(connection) == shape(migrated)


def test_a_second_time_changes_nothing(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path)
    before = shape(connection)
    migrate(connection, path)
    assert shape(connection) == before
    assert {file.name for file in path.parent.iterdir()} <= {"runs.db", "runs.db-wal", "runs.db-shm"}


def test_an_older_file_is_copied_and_then_brought_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path)
    connection.execute(statements()["insert_run"], ("R", 1, 2, "failed", None, 0, "{}"))
    migrate(connection, path, NEXT)
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert connection.execute("SELECT text, at_ms FROM notes").fetchall() == []
    assert connection.execute("SELECT id FROM runs").fetchall() == [("R",)]
    copy = path.with_name("runs.db.before-2")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(connected(copy)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
        assert old.execute("SELECT id FROM runs").fetchall() == [("R",)]


def test_a_step_that_fails_leaves_the_file_as_it_was(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path)
    before = shape(connection)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            migrate(
                connection, path, (*migrations(), "CREATE TABLE notes (text TEXT); CREATE TABLE notes (x TEXT);")
            )
        assert shape(connection) == before
        assert not connection.in_transaction
    migrate(connection, path, NEXT)


def test_a_newer_file_is_refused(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, NEXT)
    with pytest.raises(StorageError, match="newer version") as caught:
        migrate(connection, path)
    assert caught.value.code == "format_too_new"


@pytest.mark.parametrize("mark", [0, APPLICATION_ID + 1])
def test_another_programs_file_is_refused(connection: sqlite3.Connection, path: Path, mark: int) -> None:
    connection.execute("CREATE TABLE theirs (x)")
    connection.execute(f"PRAGMA application_id = {mark}")
    before = shape(connection)
    with pytest.raises(StorageError, match="another program") as caught:
        migrate(connection, path)
    assert caught.value.code == "storage_foreign"
    assert shape(connection) == before


def test_each_statement_has_a_sentence() -> None:
    for name, statement in statements().items():
        assert statement.startswith("-- "), name
        assert statement.endswith(";"), name
