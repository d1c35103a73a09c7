"""A workflow version: the immutable unit that is registered and run, known by the hash of its canonical bytes.
Above: package, operations, store. Below: paths.

Form and limits: reference/mcp-server.md §2.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from fabro.errors import InvalidInput, TooLarge
from fabro.ids import VersionId, is_sha256_hex, sha256_hex
from fabro.workflow.paths import check_path, find_collision

MAX_FILES = 512
MAX_DEPENDENCIES = 512
MAX_FILE_BYTES = 512 * 1024
MAX_VERSION_BYTES = 2 * 1024 * 1024
MAX_LEVELS = 64
"""How deep child workflows may stand within each other, the entrypoint counted as the first."""

_FIELDS = ("entrypoint", "files", "workflow_dependencies")


@dataclass(frozen=True, kw_only=True)
class Version:
    """A graph with every file that it needs, and the versions of the workflows that it calls, by path.

    Making one checks its form:

    Raises:
        InvalidInput: `workflow_version_invalid` or `invalid_workflow_path`: a path, a collision, an entrypoint that
            is no file, a dependency that is no id, or text that UTF-8 can't hold.
        TooLarge: `workflow_version_too_large`: over a limit, which the message names.
    """

    entrypoint: str
    files: Mapping[str, str]
    workflow_dependencies: Mapping[str, VersionId] = field(default_factory=dict[str, VersionId])

    def __post_init__(self) -> None:
        _check_paths(self)
        _check_sizes(self)

    @cached_property
    def canonical_bytes(self) -> bytes:
        """Compact JSON in UTF-8: the three fields in this order, each map sorted by key."""
        return _encoded(
            {
                "entrypoint": self.entrypoint,
                "files": dict(sorted(self.files.items())),
                "workflow_dependencies": dict(sorted(self.workflow_dependencies.items())),
            }
        )

    @cached_property
    def id(self) -> VersionId:
        """SHA-256 of the canonical bytes, in hex."""
        return VersionId(sha256_hex(self.canonical_bytes))


def parse_version(content: bytes) -> Version:
    """Read a version from JSON, in any order and spacing.

    Raises:
        InvalidInput: `invalid_json` for what is no JSON or repeats a key, else `workflow_version_invalid`.
        TooLarge: as for `Version`.
    """
    if len(content) > MAX_VERSION_BYTES:
        raise _too_large(f"a workflow version may have {MAX_VERSION_BYTES} bytes, this one has {len(content)}")
    try:
        data: object = json.loads(content, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _RepeatedKeyError) else "the version is not valid JSON"
        raise InvalidInput(reason, code="invalid_json") from None
    if not isinstance(data, dict) or set(cast("dict[str, object]", data)) != set(_FIELDS):
        raise _invalid(f"a version has exactly the fields {', '.join(_FIELDS)}")
    fields = cast("dict[str, object]", data)
    entrypoint = fields["entrypoint"]
    if not isinstance(entrypoint, str):
        raise _invalid("`entrypoint` must be a string")
    files = _texts(fields["files"], "files")
    dependencies = _texts(fields["workflow_dependencies"], "workflow_dependencies")
    pinned = {path: VersionId(version.lower()) for path, version in dependencies.items()}
    return Version(entrypoint=entrypoint, files=files, workflow_dependencies=pinned)


class _RepeatedKeyError(ValueError):
    """A JSON object names a key twice."""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError("a JSON object of the version names a key twice")
    return found


def _texts(value: object, name: str) -> dict[str, str]:
    """A JSON object of strings."""
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        texts = {path: text for path, text in entries.items() if isinstance(text, str)}
        if len(texts) == len(entries):
            return texts
    raise _invalid(f"`{name}` must be an object of strings")


def _check_paths(version: Version) -> None:
    paths = [version.entrypoint, *version.files, *version.workflow_dependencies]
    for path in paths:
        check_path(path)
    if version.entrypoint not in version.files:
        raise _invalid(f"the entrypoint `{version.entrypoint}` is not among the files")
    collision = find_collision(paths[1:], portable=False)
    if collision is not None:
        raise _invalid(f"the paths `{collision[0]}` and `{collision[1]}` collide")
    for path, pinned in version.workflow_dependencies.items():
        if not is_sha256_hex(pinned):
            raise _invalid(f"the dependency `{path}` must be a version id of 64 hexadecimal digits")


def _check_sizes(version: Version) -> None:
    check_count(len(version.files), MAX_FILES, "files")
    check_count(len(version.workflow_dependencies), MAX_DEPENDENCIES, "dependencies")
    for path, text in version.files.items():
        check_file_size(path, text)
    size = len(version.canonical_bytes)
    if size > MAX_VERSION_BYTES:
        raise _too_large(f"a workflow version may have {MAX_VERSION_BYTES} canonical bytes, this one has {size}")


def check_count(count: int, limit: int, what: str) -> None:
    """Accept up to `limit` files or dependencies.

    Raises:
        TooLarge: there are more.
    """
    if count > limit:
        raise _too_large(f"a workflow version may have {limit} {what}, this one has {count}")


def check_file_size(path: str, text: str) -> int:
    """The size of a file in bytes.

    Raises:
        TooLarge: it is over `MAX_FILE_BYTES`.
        InvalidInput: the text can't be written as UTF-8.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _invalid(f"the file `{path}` is not valid Unicode text") from None
    if size > MAX_FILE_BYTES:
        raise _too_large(f"a workflow file may have {MAX_FILE_BYTES} bytes, `{path}` has {size}")
    return size


def _encoded(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code="workflow_version_invalid")


def _too_large(message: str) -> TooLarge:
    return TooLarge(message, code="workflow_version_too_large", hint="split the workflow into child workflows")
