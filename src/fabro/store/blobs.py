"""Contents too large for an event, known by their hash. Above: operations, handlers, stores. Below: ids.

Implementations: `memory_blobs` and `file_blobs`; one conformance suite holds for both.
"""

from pathlib import Path
from typing import Protocol

from fabro.errors import NotFound, StorageError
from fabro.ids import BlobId


class Blobs(Protocol):
    """Immutable contents under their SHA-256. Putting the same content twice is one blob."""

    async def put(self, content: bytes) -> BlobId:
        """Keep the content; it is on stable storage when this returns.

        Raises:
            StorageError: the disk did not take it.
        """
        ...

    async def put_file(self, path: Path) -> BlobId:
        """Keep a file's content, read in pieces; the file itself is left alone.

        Raises:
            StorageError: the disk did not take it, or the path is no file that can be read.
        """
        ...

    async def get(self, blob: BlobId, *, offset: int = 0, limit: int | None = None) -> bytes:
        """At most `limit` bytes from `offset` on, all the rest when `limit` is None.

        Raises:
            NotFound: `blob_not_found`.
            StorageError: the file is there and can't be read, or its content does not match its name.
        """
        ...


def no_such_blob(blob: BlobId) -> NotFound:
    """What every implementation says of a blob that is not there."""
    return NotFound(f"no blob {blob!r}", code="blob_not_found")


def no_source(path: Path, reason: str) -> StorageError:
    """What every implementation says of a file that can't be put."""
    return StorageError(f"file {path} can't be kept: {reason}")
