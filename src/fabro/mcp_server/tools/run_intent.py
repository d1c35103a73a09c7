"""The arguments that describe a run to create. Above: run_create. Below: the calls' intent.

Source: seed 000 "Create runs"; reference/mcp-server.md §1.2. The schema is flat: a target is one object whose
`kind` says which of its other fields apply.
"""

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from fabro.calls import RunIntent
from fabro.errors import InvalidInput
from fabro.ids import is_run_id, is_sha256_hex
from fabro.mcp_server.tools.arguments import Arguments, JsonMap
from fabro.mcp_server.tools.explain import shown
from fabro.run.spec import RunArgs, Scalar
from fabro.run.target import FolderTarget, NoTarget, Target

_SCALARS: JsonDict = {"additionalProperties": {"type": ["string", "boolean", "number"]}}


class TargetArguments(Arguments):
    """Where a run works."""

    misnamed = {"type": "kind", "folder": "path", "cwd": "path", "directory": "path", "url": "repo"}

    kind: Literal["none", "folder", "git"] = Field(
        description="none: a fresh empty folder. folder: an existing folder on the server's machine, named by "
        "`path`. git: a repository; not available in this version."
    )
    path: str | None = Field(default=None, description="For kind folder: an absolute path on the server's machine.")
    repo: str | None = Field(default=None, description="For kind git: owner/name.")
    branch: str | None = Field(default=None, description="For kind git: the branch's name.")
    tag: str | None = Field(default=None, description="For kind git: a tag, optional.")
    sha: str | None = Field(default=None, description="For kind git: a commit, 40 hex digits, optional.")


class RunArgsArguments(Arguments):
    """Overrides of one run."""

    model: str | None = Field(default=None, description="The language model for stages that name none.")
    provider: str | None = Field(default=None, description="The provider of that model.")
    inputs: JsonMap[object] = Field(
        default_factory=dict,
        description="Values for the workflow's inputs, by name: strings, booleans and numbers.",
        json_schema_extra=_SCALARS,
    )
    labels: JsonMap[str] = Field(default_factory=dict, description="Labels to find the run by, name to text.")
    dry_run: bool | None = Field(default=None, description="True simulates every stage and runs nothing.")
    auto_approve: bool | None = Field(default=None, description="True answers the workflow's questions by itself.")
    preserve_sandbox: bool | None = Field(default=None, description="True keeps the workspace after the run.")


class RunItem(Arguments):
    """One run to create."""

    misnamed = {
        "workflow": "workflow_version_id",
        "version_id": "workflow_version_id",
        "environment": "environment_id",
        "goal_file": "goal",
        "cwd": "target",
        "parent": "parent_id",
        **{name: f"args.{name}" for name in RunArgsArguments.model_fields},
    }

    workflow_version_id: str = Field(
        description="The id that fabro_workflow_version_create returned: 64 hex digits, no name and no path."
    )
    target: TargetArguments | None = Field(
        default=None,
        description="Where the run works. Say it always, unless you are an agent inside a run, which inherits its "
        "run's target.",
    )
    args: RunArgsArguments = Field(default_factory=RunArgsArguments, description="Inputs, labels and overrides.")
    environment_id: str | None = Field(
        default=None, description="The server's environment; its default if left out."
    )
    parent_id: str | None = Field(default=None, description="Make it a child of this run: the parent's whole id.")
    title: str | None = Field(default=None, description="One line of at most 100 characters; made up if left out.")
    goal: str | None = Field(default=None, description="The goal as literal text, in place of the workflow's own.")
    start: bool | None = Field(
        default=None, description="False leaves the run submitted; true, the default, starts it."
    )


def intent_of(item: RunItem, place: str) -> RunIntent:
    """The intent that an item stands for; `place` is where it stands in the arguments.

    Raises:
        InvalidInput: `run_intent_invalid`, `target_required`, `target_invalid`, `target_not_available`.
    """
    if not is_sha256_hex(item.workflow_version_id.strip().lower()):
        raise InvalidInput(
            f"`{place}.workflow_version_id` is {shown(item.workflow_version_id)}; wanted 64 hexadecimal characters",
            code="run_intent_invalid",
            hint="Register the files with fabro_workflow_version_create and pass the id that it returns.",
        )
    if item.parent_id is not None and not is_run_id(item.parent_id):
        raise InvalidInput(
            f"`{place}.parent_id` is {shown(item.parent_id)}; wanted a whole run id of 26 characters",
            code="run_intent_invalid",
        )
    return RunIntent(
        workflow_version_id=item.workflow_version_id.strip(),
        target=_target(item.target, f"{place}.target"),
        args=_args(item.args, f"{place}.args"),
        environment_id=item.environment_id,
        parent_id=item.parent_id,
        title=item.title,
        goal=item.goal,
    )


def _target(target: TargetArguments | None, place: str) -> Target:
    if target is None:
        raise InvalidInput(
            f"`{place}` is missing, and a run that is created from outside a run needs one",
            code="target_required",
            hint='Use {"kind": "none"} for an empty workspace.',
        )
    said = target.model_dump(exclude_none=True, exclude={"kind"})
    match target.kind:
        case "none":
            _refuse_others(said, (), target.kind, place)
            return NoTarget()
        case "folder":
            _refuse_others(said, ("path",), target.kind, place)
            if target.path is None:
                raise InvalidInput(f"`{place}.path` is missing; kind folder needs it", code="target_invalid")
            if not target.path.startswith("/"):
                raise InvalidInput(
                    f"`{place}.path` is {shown(target.path)}; wanted an absolute path on the server's machine",
                    code="target_invalid",
                )
            return FolderTarget(path=target.path)
        case "git":
            raise InvalidInput(
                f"`{place}`: kind git is not available in this version",
                code="target_not_available",
                hint="Check the repository out on the server's machine and use kind folder, or use kind none.",
            )


def _refuse_others(said: dict[str, object], allowed: tuple[str, ...], kind: str, place: str) -> None:
    others = [name for name in said if name not in allowed]
    if others:
        raise InvalidInput(
            f"`{place}.{others[0]}` does not go with kind {kind}", code="target_invalid", hint="Leave it out."
        )


def _args(args: RunArgsArguments, place: str) -> RunArgs:
    inputs: dict[str, Scalar] = {}
    for name, value in args.inputs.items():
        if not isinstance(value, str | bool | int | float):
            problem = "cannot be null" if value is None else f"does not support {shown(value)}"
            raise InvalidInput(
                f"`{place}.inputs.{name}` {problem}; use a string, a boolean or a number", code="run_intent_invalid"
            )
        inputs[name] = value
    return RunArgs(
        inputs=inputs,
        labels=args.labels,
        model=args.model,
        provider=args.provider,
        dry_run=args.dry_run,
        auto_approve=args.auto_approve,
        preserve_sandbox=args.preserve_sandbox,
    )
