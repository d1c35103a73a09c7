"""From a file on this machine to a run on the server. Above: run, create, workflow. Below: packaging, calls.

Nothing is uploaded before the whole workflow was found valid here (known fault U-06: with each finding's fix).
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabro.calls import Calls, RunIntent, RunListQuery
from fabro.cli.boundary import Usage
from fabro.cli.inputs import parse_inputs, parse_labels
from fabro.cli.locate import locate
from fabro.cli.output import Output
from fabro.cli.workflow_files import WorkflowPath, workflow_reader
from fabro.dot.span import Source
from fabro.errors import InvalidInput, TooLarge
from fabro.ids import VersionId
from fabro.projections.run_view import RunView
from fabro.run.spec import RunArgs
from fabro.run.target import FolderTarget, NoTarget, Target
from fabro.workflow.diagnostics import Severity, render
from fabro.workflow.package import Package, package

LONGEST_GOAL_BYTES = 1 << 20
FIRST_RUN = "note: the server runs commands as its own user, without isolation; run only workflows that you trust"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """The options of `run` and `create` as they were written."""

    inputs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    goal: str | None = None
    goal_file: str | None = None
    model: str | None = None
    provider: str | None = None
    title: str | None = None
    target: str | None = None
    dry_run: bool = False
    auto_approve: bool = False


def prepare(given: str, *, environment: Mapping[str, str], output: Output) -> Package:
    """Find, read and check a workflow; its findings go to standard error.

    Raises:
        NotFound: it names no workflow.
        InvalidInput: it is not valid.
    """
    path = locate(given, folder=Path.cwd(), environment=environment)
    found = package(path.entrypoint, workflow_reader(path.root))
    _show_findings(found, output)
    if found.root is None or any(one.severity is Severity.ERROR for one in found.diagnostics):
        raise InvalidInput(
            f"the workflow {_shown(path)} is not valid",
            code="workflow_version_invalid",
            hint="Mend what is listed above; `fabro validate FILE` checks again.",
            details={"diagnostics": [one.to_json() for one in found.diagnostics]},
        )
    return found


async def register(calls: Calls, found: Package) -> VersionId:
    """Store a workflow's versions, dependencies first; the id of its own."""
    version_id = None
    for version in found.versions:
        version_id = await calls.versions.create(version)
    assert version_id is not None
    return version_id


def intent_of(wishes: Wishes, found: Package) -> RunIntent:
    """What to create.

    Raises:
        Usage: an option can't be read.
        InvalidInput: the goal's file can't.
    """
    assert found.root is not None
    return RunIntent(
        workflow_version_id=found.root.id,
        target=parse_target(wishes.target, Path.cwd()),
        title=wishes.title,
        goal=read_goal(wishes),
        args=RunArgs(
            inputs=parse_inputs(wishes.inputs),
            labels=parse_labels(wishes.labels),
            model=wishes.model,
            provider=wishes.provider,
            dry_run=wishes.dry_run or None,
            auto_approve=wishes.auto_approve or None,
        ),
    )


async def create_run(calls: Calls, found: Package, intent: RunIntent, output: Output) -> RunView:
    """Register the workflow and create a run of it; before a server's first, say what it means to run something."""
    if not (await calls.runs.list(RunListQuery(limit=1))).data and not output.as_json:
        output.note(FIRST_RUN)
    await register(calls, found)
    return await calls.runs.create(intent)


def parse_target(text: str | None, folder: Path) -> Target:
    """`none`, `folder:PATH` or a path; the folder itself where nothing is said.

    Raises:
        Usage: the path is no folder of this machine.
    """
    if text == "none":
        return NoTarget()
    path = folder / (text or "").removeprefix("folder:")
    if text is not None and (text in ("", "folder:") or not path.is_dir()):
        raise Usage(f"--target {text!r}: wanted none, or folder:PATH of a folder that exists")
    return FolderTarget(path=str(path.resolve()))


def read_goal(wishes: Wishes) -> str | None:
    """The goal from `--goal`, from a file, or from standard input (`-`); None where none is given.

    Raises:
        Usage: both are given.
        InvalidInput: the file can't be read, is too large, or no UTF-8 text.
    """
    if wishes.goal_file is None:
        return wishes.goal
    if wishes.goal is not None:
        raise Usage("--goal and --goal-file exclude each other")
    name = wishes.goal_file
    try:
        content = _first_bytes(name, LONGEST_GOAL_BYTES + 1)
        if len(content) > LONGEST_GOAL_BYTES:
            raise TooLarge(f"--goal-file {name!r} is larger than {LONGEST_GOAL_BYTES} bytes")
        return content.decode()
    except OSError as error:
        raise InvalidInput(
            f"--goal-file {name!r} can't be read: {error.strerror}", code="unreadable_file"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--goal-file {name!r} is not UTF-8 text", code="unreadable_file") from error


def _first_bytes(name: str, size: int) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(size)
    with Path(name).open("rb") as file:
        return file.read(size)


def _show_findings(found: Package, output: Output) -> None:
    if output.as_json:
        return
    sources = {name: Source(name, text) for name, text in found.sources.items()}
    for one in found.diagnostics:
        if one.severity is Severity.ERROR or not output.quiet:
            output.note(render(one, sources.get(one.file)))


def _shown(path: WorkflowPath) -> str:
    return str(path.root / path.entrypoint)
