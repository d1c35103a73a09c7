"""Which workflow a command line means: a file, a folder, or a name. Above: run, create, workflow. Below: files.

Source: reference/engine.md §11 (invocation).
"""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from fabro.cli.workflow_files import WorkflowPath
from fabro.errors import NotFound

FILES = ("workflow.toml", "workflow.fabro")
"""What a workflow's folder holds, the first that exists counts."""
ENDINGS = (".fabro", ".toml", ".dot", ".gv")


def locate(given: str, *, folder: Path, environment: Mapping[str, str]) -> WorkflowPath:
    """The workflow that `given` names, seen from `folder`.

    A path wins over a name. Names are looked up as `.fabro/workflows/NAME` in `folder` and the folders above it,
    then in `~/.fabro/workflows`.

    Raises:
        NotFound: there is no such file, folder or name; the hint says what there is.
    """
    path = folder / given
    if path.is_file():
        return WorkflowPath(root=path.parent, entrypoint=path.name)
    if path.is_dir() and (found := _in_folder(path)):
        return found
    if path.is_dir():
        raise NotFound(f"the folder {given!r} holds neither {FILES[0]} nor {FILES[1]}", code="workflow_not_found")
    if os.sep in given or given.endswith(ENDINGS):
        raise NotFound(f"there is no workflow file {given!r}", code="workflow_not_found")
    for place in _places(folder, environment):
        if found := _in_folder(place / given):
            return found
    raise _unknown(given, folder, environment)


def _in_folder(folder: Path) -> WorkflowPath | None:
    present = (name for name in FILES if (folder / name).is_file())
    name = next(present, None)
    return WorkflowPath(root=folder, entrypoint=name) if name is not None else None


def _places(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for parent in (folder, *folder.parents):
        yield parent / ".fabro" / "workflows"
    own, home = environment.get("FABRO_HOME"), environment.get("HOME")
    if own:
        yield Path(own) / "workflows"
    elif home:
        yield Path(home) / ".fabro" / "workflows"


def _unknown(given: str, folder: Path, environment: Mapping[str, str]) -> NotFound:
    names = sorted({name for place in _places(folder, environment) for name in _names(place)})
    near = get_close_matches(given, names, n=1)
    if near:
        hint = f"Did you mean {near[0]!r}?"
    elif names:
        hint = f"Known names: {', '.join(names[:10])}."
    else:
        hint = f"Name a file, or put the workflow into .fabro/workflows/{given}/workflow.fabro."
    return NotFound(
        f"there is no workflow {given!r}: no such file, folder or name", code="workflow_not_found", hint=hint
    )


def _names(place: Path) -> list[str]:
    try:
        return [child.name for child in place.iterdir() if _in_folder(child)]
    except OSError:
        return []
