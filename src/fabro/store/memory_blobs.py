"""Blobs that are forgotten. Above: tests and programs that embed the engine. Below: the port."""

from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint

from fabro.ids import BlobId, sha256_hex
from fabro.store.blobs import no_source, no_such_blob


class MemoryBlobs:
    """Implements `fabro.store.blobs.Blobs`."""

    def __init__(self) -> None:
        self._contents: dict[BlobId, bytes] = {}

    async def put(self, content: bytes) -> BlobId:
        """Keep the content."""
        await checkpoint()
        blob = BlobId(sha256_hex(content))
        self._contents[blob] = bytes(content)
        return blob

    async def put_file(self, path: Path) -> BlobId:
        """Keep a file's content; see the port."""
        source = anyio.Path(path)
        if not await source.is_file():
            raise no_source(path, "it is no file")
        try:
            return await self.put(await source.read_bytes())
        except OSError as error:
            raise no_source(path, error.strerror or str(error)) from error

    async def get(self, blob: BlobId, *, offset: int = 0, limit: int | None = None) -> bytes:
        """A part of a blob; see the port."""
        await checkpoint()
        content = self._contents.get(blob)
        if content is None:
            raise no_such_blob(blob)
        start = max(0, offset)
        return content[start:] if limit is None else content[start : start + max(0, limit)]
