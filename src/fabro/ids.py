"""Identifiers as distinct types, and the only source of randomness. Above: everything. Below: nothing."""

import hashlib
import random
import re
from datetime import datetime
from typing import NewType

from ulid import ULID

RunId = NewType("RunId", str)
"""A ULID: 26 characters of Crockford's base 32, upper case; its time is the run's creation."""
VersionId = NewType("VersionId", str)
"""SHA-256 of a workflow version's canonical bytes, 64 lower-case hex digits."""
NodeId = NewType("NodeId", str)
"""A node's name in the graph."""
StageId = NewType("StageId", str)
"""One execution of a node, `node@n` with n from 1."""
QuestionId = NewType("QuestionId", str)
"""A question of a run. A human gate's question has its stage's id."""
BlobId = NewType("BlobId", str)
"""SHA-256 of a blob's bytes, 64 lower-case hex digits."""

_RUN_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_STAGE_ID = re.compile(r"(?P<node>.+)@(?P<ordinal>[1-9][0-9]*)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def new_run_id(now: datetime) -> RunId:
    """A fresh run id whose leading part is `now`, so that ids sort by creation."""
    return RunId(str(ULID.from_datetime(now)))


def random_fraction() -> float:
    """A number from 0 up to 1, to spread things out by; nothing secret may depend on it."""
    return random.random()  # noqa: S311


def is_run_id(text: str) -> bool:
    """Whether `text` has the form of a run id."""
    return _RUN_ID.fullmatch(text) is not None


def stage_id(node: NodeId, ordinal: int) -> StageId:
    """The id of a node's nth execution."""
    return StageId(f"{node}@{ordinal}")


def split_stage_id(stage: StageId) -> tuple[NodeId, int]:
    """Node and ordinal of a stage id.

    Raises:
        ValueError: `stage` does not have the form `node@n`.
    """
    match = _STAGE_ID.fullmatch(stage)
    if match is None:
        raise ValueError(f"not a stage id: {stage!r}")
    return NodeId(match["node"]), int(match["ordinal"])


def sha256_hex(content: bytes) -> str:
    """The digest under which versions and blobs are known."""
    return hashlib.sha256(content).hexdigest()


def is_sha256_hex(text: str) -> bool:
    """Whether `text` is 64 lower-case hex digits."""
    return _SHA256.fullmatch(text) is not None
