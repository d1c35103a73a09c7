"""Workflow files on disk, for every command that takes a path. Above: the commands. Below: workflow.

Reading stays inside one folder, whatever links lie in it, and accepts UTF-8 text of bounded size alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabro.errors import InvalidInput, NotFound, TooLarge
from fabro.workflow.collect import CONFIG_NAME, DEFAULT_GRAPH

MAX_READ_BYTES = 2 * 1024 * 1024
"""Larger files are not read at all."""


@dataclass(frozen=True, kw_only=True)
class WorkflowPath:
    """A workflow as named on the command line: its folder, and the file in it."""

    root: Path
    entrypoint: str


def find_workflow(path: Path) -> WorkflowPath:
    """What a path names: a graph file, a `workflow.toml`, or a folder that holds one (else `workflow.fabro`).

    Raises:
        NotFound: there is no such file.
    """
    if path.is_dir():
        path /= CONFIG_NAME if (path / CONFIG_NAME).exists() else DEFAULT_GRAPH
    if not path.is_file():
        raise NotFound(f"there is no workflow file `{path}`", hint="name a graph, a `workflow.toml` or its folder")
    return WorkflowPath(root=path.parent, entrypoint=path.name)


def workflow_reader(root: Path) -> Callable[[str], str | None]:
    """A function that reads files of the folder `root` by their path in it; None for what is no file.

    It raises InvalidInput (TooLarge for the size) for a file that a link leads out of the folder, that can't be
    opened, that is no UTF-8 text, or that is over `MAX_READ_BYTES`.
    """
    real_root = root.resolve()

    def read(path: str) -> str | None:
        try:
            found = (root / path).resolve()
            if not found.is_relative_to(real_root):
                raise _refused(path, "a link leads out of the workflow's folder", "copy the file into the folder")
            return _text(path, found) if found.is_file() else None
        except (OSError, RuntimeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "links in a circle"
            raise _refused(path, f"it can't be read: {reason}", "check the file and its permissions") from None

    return read


def _text(path: str, found: Path) -> str:
    with found.open("rb") as file:
        content = file.read(MAX_READ_BYTES + 1)
    if len(content) > MAX_READ_BYTES:
        raise TooLarge(f"`{path}` is larger than {MAX_READ_BYTES} bytes", hint="split the file")
    if b"\0" in content:
        raise _refused(path, "it holds a NUL byte, so it is not text", "save it as plain UTF-8 text")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused(path, f"it is not valid UTF-8, first in line {line}", "save it as UTF-8 text") from None


def _refused(path: str, reason: str, hint: str) -> InvalidInput:
    return InvalidInput(f"`{path}` can't be used: {reason}", code="unreadable_file", hint=hint)
