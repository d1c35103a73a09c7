"""The storage folder: one holder at a time, nobody else's folder touched."""

import fcntl
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabro.errors import Conflict, StorageError
from fabro.store.folder import FORMAT, MARKER, PRODUCT, find_holder, open_folder, read_holder

NOBODY = 65534

HOLD = """
import sys
from pathlib import Path
from fabro.errors import Conflict
from fabro.store.folder import open_folder
try:
    folder = open_folder(Path(sys.argv[1]), socket="/tmp/its.sock")
except Conflict as error:
    print("refused", error.code, flush=True)
else:
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "storage"


def start_holder(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def holder(path: Path) -> Generator["subprocess.Popen[str]"]:
    with start_holder(path) as process:
        try:
            assert said(process) == "held"
            yield process
        finally:
            process.kill()


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_fresh_folder(path: Path) -> None:
    with open_folder(path, socket="/tmp/s.sock") as folder:
        assert folder.path == path
        assert {inner.name for inner in path.iterdir() if inner.is_dir()} == {"db", "blobs", "runs", "logs"}
        for inner in (path, folder.db, folder.blobs, folder.runs, folder.logs):
            assert stat.S_IMODE(inner.stat().st_mode) == 0o700
        for file in (path / MARKER, path / "lock"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads((path / MARKER).read_text()) == {"product": PRODUCT, "format": FORMAT}
        found = read_holder(path)
        assert found is not None
        assert (found.pid, found.socket) == (os.getpid(), "/tmp/s.sock")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.started)


def test_an_empty_folder_is_taken_and_a_closed_one_opened_again(path: Path) -> None:
    path.mkdir()
    for _ in range(2):
        with open_folder(path) as folder:
            (folder.runs / "kept").touch()
        folder.close()
    assert (path / "runs" / "kept").exists()


def test_what_lies_in_our_folder_is_left_alone(path: Path) -> None:
    with open_folder(path) as folder:
        (folder.db / "runs.db").write_bytes(b"x")
        (path / "settings.toml").write_bytes(b"y")
    with open_folder(path):
        assert (path / "db" / "runs.db").read_bytes() == b"x"
        assert (path / "settings.toml").read_bytes() == b"y"


def test_one_holder_in_a_process(path: Path) -> None:
    with open_folder(path):
        with pytest.raises(Conflict) as caught:
            open_folder(path)
        assert caught.value.code == "storage_in_use"
    with open_folder(path):
        pass


def test_the_holder_is_told(path: Path) -> None:
    with holder(path) as process:
        with pytest.raises(Conflict) as caught:
            open_folder(path)
        error = caught.value
        assert error.code == "storage_in_use"
        assert f"process {process.pid}" in error.message
        assert error.details["pid"] == process.pid
        assert error.details["socket"] == "/tmp/its.sock"
        assert "--storage-dir" in (error.hint or "")


def test_the_lock_dies_with_its_holder(path: Path) -> None:
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        with open_folder(path):
            pass


@pytest.mark.parametrize(
    "text",
    [
        '{"pid": 1}',
        f'{{"pid": {os.getpid()}, "host": "elsewhere"}}',
        "garbage",
        "",
        "[]",
        '{"pid": "x"}',
        "\0" * 100,
    ],
    ids=["pid 1", "own pid, another host", "garbage", "empty", "a list", "no number", "NUL"],
)
def test_what_the_lock_file_says_locks_nothing(path: Path, text: str) -> None:
    with open_folder(path):
        pass
    (path / "lock").write_text(text)
    with open_folder(path):
        found = read_holder(path)
        assert found is not None
        assert found.pid == os.getpid()


def test_of_many_starters_one_wins(path: Path) -> None:
    starters = [start_holder(path) for _ in range(6)]
    try:
        answers = sorted(said(process) for process in starters)
    finally:
        for process in starters:
            with process:
                process.kill()
    assert answers == ["held"] + ["refused storage_in_use"] * 5


def test_another_programs_folder_is_never_touched(path: Path) -> None:
    path.mkdir()
    (path / "data.redb").write_bytes(b"theirs")
    (path / "runs").mkdir()
    before = snapshot(path), path.stat().st_mtime_ns
    with pytest.raises(StorageError) as caught:
        open_folder(path)
    assert caught.value.code == "storage_foreign"
    assert "--storage-dir" in (caught.value.hint or "")
    assert (snapshot(path), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    "mark", [b"[]", b"nonsense", b'{"product": "other", "format": 1}', b'{"product": "fabro-python"}']
)
def test_a_mark_that_is_not_ours(path: Path, mark: bytes) -> None:
    path.mkdir()
    (path / MARKER).write_bytes(mark)
    with pytest.raises(StorageError) as caught:
        open_folder(path)
    assert caught.value.code == "storage_foreign"
    assert (path / MARKER).read_bytes() == mark


def test_a_newer_format(path: Path) -> None:
    path.mkdir()
    (path / MARKER).write_text(json.dumps({"product": PRODUCT, "format": FORMAT + 1}))
    with pytest.raises(StorageError, match="newer version") as caught:
        open_folder(path)
    assert caught.value.code == "format_too_new"
    assert "Upgrade" in (caught.value.hint or "")


def test_a_start_that_was_cut_off_is_taken_up(path: Path) -> None:
    path.mkdir()
    (path / MARKER).touch()
    with open_folder(path):
        assert json.loads((path / MARKER).read_text())["product"] == PRODUCT


def test_no_folder_and_no_parent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="is no folder"):
        open_folder(tmp_path / "file")
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path / 'missing'} does not exist")):
        open_folder(tmp_path / "missing" / "storage")
    with pytest.raises(StorageError, match="storage folder"):
        open_folder(tmp_path / "file" / "storage")


@contextmanager
def as_somebody_ordinary() -> Generator[None]:
    """Root may write everywhere; inside the block this process is not root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with as_somebody_ordinary(), pytest.raises(StorageError, match="Permission denied"):
        open_folder(closed / "storage")


def test_a_refusal_lets_the_lock_go(path: Path) -> None:
    with open_folder(path):
        pass
    (path / "db").rmdir()
    (path / "db").touch()
    for _ in range(2):
        with pytest.raises(StorageError, match="storage folder"):
            open_folder(path)
    (path / "db").unlink()
    with open_folder(path):
        pass


def test_nobody_holds_a_folder_that_is_not_there(path: Path) -> None:
    assert read_holder(path) is None
    assert find_holder(path) is None
    path.write_text("a file")
    assert find_holder(path) is None


def test_asking_for_the_holder_changes_nothing(path: Path) -> None:
    with holder(path) as process:
        before = snapshot(path)
        found = find_holder(path)
        assert found is not None
        assert (found.pid, found.socket) == (process.pid, "/tmp/its.sock")
        process.kill()
        process.wait(10)
        assert find_holder(path) is None
        assert snapshot(path) == before


def test_who_asks_for_the_holder_is_never_taken_for_it(path: Path) -> None:
    with open_folder(path):
        pass
    with (path / "lock").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert find_holder(path) is None


def test_a_holder_that_does_not_say_who_it_is(path: Path) -> None:
    with open_folder(path):
        (path / "lock").write_text("")
        with pytest.raises(Conflict) as caught:
            find_holder(path)
    assert caught.value.code == "storage_in_use"


@pytest.mark.parametrize("mark", [None, b"[]", b'{"product": "other", "format": 1}'])
def test_another_programs_lock_is_never_touched(path: Path, mark: bytes | None) -> None:
    path.mkdir()
    (path / "lock").write_text(json.dumps({"pid": os.getpid()}))
    if mark is not None:
        (path / MARKER).write_bytes(mark)
    before = snapshot(path)
    with (path / "lock").open("rb") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(StorageError) as caught:
            open_folder(path)
        assert caught.value.code == "storage_foreign"
        if mark is None:
            assert find_holder(path) is None
        else:
            with pytest.raises(StorageError):
                find_holder(path)
    assert snapshot(path) == before


@pytest.mark.parametrize("old", ["", '{"pid": 1}\n', json.dumps({"pid": 1, "socket": "/s" * 500})])
def test_what_the_lock_file_says_is_replaced_in_place(path: Path, old: str) -> None:
    with open_folder(path):
        pass
    (path / "lock").write_text(old)
    with open_folder(path, socket="/its"):
        assert json.loads((path / "lock").read_text())["socket"] == "/its"


def test_the_rest_of_an_older_text_is_not_read(path: Path) -> None:
    with open_folder(path, socket="/its"):
        with (path / "lock").open("a") as lock:
            lock.write('d": "/s/of/the/old/one"}')
        found = find_holder(path)
        assert found is not None
        assert (found.pid, found.socket) == (os.getpid(), "/its")


def test_a_full_disk_does_not_empty_the_lock_file(path: Path) -> None:
    with open_folder(path, socket="/first") as folder:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
            folder.tell_holder("/second")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        found = read_holder(path)
        assert found is not None
        assert (found.pid, found.socket) == (os.getpid(), "/first")
