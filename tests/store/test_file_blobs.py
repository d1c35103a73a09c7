"""Blobs as files: whole or not there, for their owner only, checked against their names."""

import stat
from pathlib import Path

import pytest

from fabro.errors import StorageError
from fabro.ids import sha256_hex
from fabro.store.file_blobs import FileBlobs

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


def files(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]


async def test_they_lie_under_their_names_for_their_owner_only(folder: Path) -> None:
    blob = await FileBlobs(folder).put(b"secret")
    assert files(folder) == [Path(blob[:2]) / blob]
    assert stat.S_IMODE((folder / blob[:2] / blob).stat().st_mode) == 0o600
    for inner in (folder, folder / blob[:2], folder / "unfinished"):
        assert stat.S_IMODE(inner.stat().st_mode) == 0o700


async def test_another_opening_finds_them(folder: Path) -> None:
    blob = await FileBlobs(folder).put(b"kept")
    assert await FileBlobs(folder).get(blob) == b"kept"


async def test_what_a_crash_left_is_removed(folder: Path) -> None:
    FileBlobs(folder)
    (folder / "unfinished" / "tmp123").write_bytes(b"half")
    FileBlobs(folder)
    assert files(folder) == []


@pytest.mark.parametrize("damage", [b"", b"kepX", b"kept and more"])
async def test_damage_is_told(folder: Path, damage: bytes) -> None:
    blobs = FileBlobs(folder)
    blob = await blobs.put(b"kept")
    (folder / blob[:2] / blob).write_bytes(damage)
    for offset in (0, 1):
        with pytest.raises(StorageError, match="does not match its name") as caught:
            await blobs.get(blob, offset=offset)
        assert caught.value.code == "blob_damaged"


async def test_damage_after_a_part_was_read_is_told(folder: Path) -> None:
    blobs = FileBlobs(folder)
    blob = await blobs.put(b"kept")
    assert await blobs.get(blob, offset=1) == b"ept"
    (folder / blob[:2] / blob).write_bytes(b"kep")
    with pytest.raises(StorageError):
        await blobs.get(blob, offset=1)


async def test_putting_again_mends_a_cut_file(folder: Path) -> None:
    blobs = FileBlobs(folder)
    blob = await blobs.put(b"kept")
    (folder / blob[:2] / blob).write_bytes(b"ke")
    assert await blobs.put(b"kept") == blob
    assert await blobs.get(blob) == b"kept"


async def test_a_failed_put_leaves_nothing_half_written(folder: Path) -> None:
    blobs = FileBlobs(folder)
    blob = sha256_hex(b"kept")
    (folder / blob[:2]).write_bytes(b"in the way")
    with pytest.raises(StorageError, match="blob folder"):
        await blobs.put(b"kept")
    assert files(folder) == [Path(blob[:2])]


async def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "missing" / "blobs", tmp_path / "file" / "blobs", tmp_path / "file"):
        with pytest.raises(StorageError, match="blob folder"):
            FileBlobs(path)
