"""What every blob store promises."""

from pathlib import Path

import anyio
import pytest

from fabro.errors import NotFound, StorageError
from fabro.ids import BlobId, sha256_hex
from fabro.store.blobs import Blobs
from fabro.store.file_blobs import FileBlobs
from fabro.store.memory_blobs import MemoryBlobs

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "file"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return MemoryBlobs() if request.param == "memory" else FileBlobs(tmp_path / "blobs")


@pytest.mark.parametrize("content", [b"", b"\0", b"text\n", bytes(range(256)) * 10_000], ids=len)
async def test_what_is_put_is_got(blobs: Blobs, content: bytes) -> None:
    blob = await blobs.put(content)
    assert blob == sha256_hex(content)
    assert await blobs.get(blob) == content
    assert await blobs.put(content) == blob


@pytest.mark.parametrize("size", [0, 1, 1024 * 1024, 3 * 1024 * 1024 + 5])
async def test_a_file_is_put_and_left_alone(blobs: Blobs, tmp_path: Path, size: int) -> None:
    content = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    path = tmp_path / "output"
    path.write_bytes(content)
    blob = await blobs.put_file(path)
    assert await blobs.get(blob) == content
    assert await blobs.put(content) == blob
    assert path.read_bytes() == content


async def test_parts(blobs: Blobs) -> None:
    blob = await blobs.put(b"0123456789")
    assert await blobs.get(blob, offset=3) == b"3456789"
    assert await blobs.get(blob, offset=3, limit=4) == b"3456"
    assert await blobs.get(blob, limit=2) == b"01"
    assert await blobs.get(blob, offset=8, limit=100) == b"89"
    assert await blobs.get(blob, offset=10) == b""
    assert await blobs.get(blob, offset=10_000, limit=1) == b""
    assert await blobs.get(blob, limit=0) == b""
    assert await blobs.get(blob, limit=-1) == b""
    assert await blobs.get(blob, offset=-4, limit=2) == b"01"


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", "/etc/passwd", "\0", "é" * 64, "A" * 64, sha256_hex(b"?")]
)
async def test_a_blob_that_is_not_there(blobs: Blobs, name: str) -> None:
    with pytest.raises(NotFound) as caught:
        await blobs.get(BlobId(name))
    assert caught.value.code == "blob_not_found"


async def test_a_source_that_is_no_file(blobs: Blobs, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(StorageError, match="it is no file"):
            await blobs.put_file(path)


async def test_many_at_once(blobs: Blobs) -> None:
    contents = [str(number % 20).encode() * 5000 for number in range(100)]
    got: list[bytes] = []

    async def one(content: bytes) -> None:
        got.append(await blobs.get(await blobs.put(content)))

    async with anyio.create_task_group() as group:
        for content in contents:
            group.start_soon(one, content)
    assert sorted(got) == sorted(contents)
