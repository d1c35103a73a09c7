"""The run's shared memory: a flat map from keys to JSON. Above: state, routing. Below: ids.

Source: reference/engine.md §5. A value that is too large to keep at hand stands as a `BlobRef`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from fabro.ids import BlobId
from fabro.json_value import JsonValue


@dataclass(frozen=True, kw_only=True, slots=True)
class BlobRef:
    """A text that is kept as a blob; `size` is its length in bytes."""

    blob: BlobId
    size: int

    def __str__(self) -> str:
        return f"blob://sha256/{self.blob}"


ContextValue: TypeAlias = "JsonValue | BlobRef"
