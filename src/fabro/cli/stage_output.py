"""`fabro output`. Above: main. Below: calls, output."""

from typing import Annotated

import typer

from fabro.calls import Calls, RunStateView
from fabro.cli.arguments import Run
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server
from fabro.errors import NotFound
from fabro.projections.detail import StageView


def output(
    ctx: typer.Context,
    run: Run,
    stage: Annotated[
        str, typer.Argument(metavar="STAGE", help="A stage, for instance build@2, or a node for its last stage.")
    ],
) -> None:
    """Show what a stage's command printed.

    On a terminal control characters are shown as escapes; into a file or a pipe the text goes as it is.
    """
    chosen = settings(ctx)
    printer = output_for(chosen)

    async def act(calls: Calls) -> RunStateView:
        return await calls.runs.state(await calls.runs.resolve(run))

    found = _stage(ask_server(chosen, act), stage)
    command = found.command
    if command is None:
        raise NotFound(f"stage {found.stage_id} ran no command: it is of the kind {found.handler_type}")
    if printer.as_json:
        printer.json({"stage_id": found.stage_id, "command": command})
        return
    if printer.out.isatty():
        printer.line(command.output.rstrip("\n"))
    else:
        printer.out.write(command.output)
    if command.output_blob is not None:
        printer.note(f"the whole output has {command.output_bytes} bytes; its head and tail are shown")


def _stage(state: RunStateView, wanted: str) -> StageView:
    for stage in reversed(state.stages):
        if wanted in (stage.stage_id, stage.node_id):
            return stage
    known = ", ".join(stage.stage_id for stage in state.stages[-20:])
    raise NotFound(
        f"run {state.run.id} has no stage {wanted!r}",
        code="stage_not_found",
        hint=f"Its stages are: {known}." if known else "No stage has begun yet.",
    )
