"""Where a run works. Above: events, intents, sandboxes. Below: nothing. Source: seed 000 "Create runs"."""

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class NoTarget:
    """An empty workspace, made for the run."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderTarget:
    """A folder of the server's machine: `path` is absolute, exists, and has its symbolic links resolved."""

    path: str
    kind: Literal["folder"] = "folder"


Target: TypeAlias = NoTarget | FolderTarget
