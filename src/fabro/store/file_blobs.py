"""Blobs as files, `ab/abcd…` under a folder. Above: assembly. Below: the port.

A content is written beside its place, synced, renamed into it, and the folder synced: a blob's file is whole or not
there at all. A content is checked against its name when it is read whole, and once before its first part is read.
"""

import contextlib
import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path

import anyio.to_thread

from fabro.errors import StorageError
from fabro.ids import BlobId, is_sha256_hex, sha256_hex
from fabro.store.blobs import no_source, no_such_blob

_PIECE = 1024 * 1024
_MAX_CHECKED = 1024


class FileBlobs:
    """Implements `fabro.store.blobs.Blobs`. One process at a time may write to a folder.

    Making it removes what a crash left half written.

    Raises:
        StorageError: the folder can't be made or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unfinished = folder / "unfinished"
        self._checked: OrderedDict[tuple[BlobId, int, int], None] = OrderedDict()
        with _told(folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            self._unfinished.mkdir(mode=0o700, exist_ok=True)
            for left_over in self._unfinished.iterdir():
                left_over.unlink()

    async def put(self, content: bytes) -> BlobId:
        """Keep the content; see the port."""
        return await anyio.to_thread.run_sync(self._put, content)

    async def put_file(self, path: Path) -> BlobId:
        """Keep a file's content; see the port."""
        return await anyio.to_thread.run_sync(self._put_file, path)

    async def get(self, blob: BlobId, *, offset: int = 0, limit: int | None = None) -> bytes:
        """A part of a blob; see the port."""
        if not is_sha256_hex(blob):
            raise no_such_blob(blob)
        return await anyio.to_thread.run_sync(partial(self._get, blob, max(0, offset), limit))

    def _put(self, content: bytes) -> BlobId:
        blob = BlobId(sha256_hex(content))
        with _told(self._folder):
            if self._is_there(blob, content):
                self._sync(blob)
            else:
                self._write([content])
        return blob

    def _put_file(self, path: Path) -> BlobId:
        if not path.is_file():
            raise no_source(path, "it is no file")
        try:
            source = path.open("rb")
        except OSError as error:
            raise no_source(path, error.strerror or str(error)) from error
        with source, _told(self._folder):
            return self._write(_pieces(source))

    def _get(self, blob: BlobId, offset: int, limit: int | None) -> bytes:
        try:
            file = self._place(blob).open("rb")
        except FileNotFoundError:
            raise no_such_blob(blob) from None
        except OSError as error:
            raise StorageError(f"blob {blob} can't be read: {error.strerror or error}") from error
        with file, _told(self._folder):
            if offset == 0 and limit is None:
                content = file.read()
                _check(blob, sha256_hex(content))
                return content
            self._check_once(blob, file)
            file.seek(offset)
            return file.read() if limit is None else file.read(max(0, limit))

    def _check_once(self, blob: BlobId, file: BufferedReader) -> None:
        about = os.fstat(file.fileno())
        version = (blob, about.st_size, about.st_mtime_ns)
        if version not in self._checked:
            _check(blob, hashlib.file_digest(file, "sha256").hexdigest())
            self._checked[version] = None
            if len(self._checked) > _MAX_CHECKED:
                self._checked.popitem(last=False)

    def _write(self, pieces: Iterable[bytes]) -> BlobId:
        digest = hashlib.sha256()
        descriptor, name = tempfile.mkstemp(dir=self._unfinished)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            blob = BlobId(digest.hexdigest())
            self._place(blob).parent.mkdir(mode=0o700, exist_ok=True)
            Path(name).replace(self._place(blob))
        finally:
            Path(name).unlink(missing_ok=True)
        self._sync(blob)
        return blob

    def _sync(self, blob: BlobId) -> None:
        """Make the names on the way to a blob durable, whoever made them."""
        _sync_folder(self._place(blob).parent)
        _sync_folder(self._folder)

    def _place(self, blob: BlobId) -> Path:
        return self._folder / blob[:2] / blob

    def _is_there(self, blob: BlobId, content: bytes) -> bool:
        """Whether the very content is there; what was damaged is to be written anew."""
        with contextlib.suppress(FileNotFoundError):
            place = self._place(blob)
            return place.stat().st_size == len(content) and place.read_bytes() == content
        return False


def _pieces(source: BufferedReader) -> Iterator[bytes]:
    while piece := source.read(_PIECE):
        yield piece


def _check(blob: BlobId, digest: str) -> None:
    if digest != blob:
        raise StorageError(f"blob {blob} is damaged: its content does not match its name", code="blob_damaged")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _told(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"blob folder {folder}: {error.strerror or error}",
            hint="Check its owner, its mode and the disk's room.",
        ) from error
