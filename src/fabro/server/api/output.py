"""The whole output of a stage's command. Above: the event routers. Below: blobs."""

from starlette.responses import Response

from fabro.calls import RunStateView
from fabro.errors import Conflict, NotFound
from fabro.projections.detail import CommandView
from fabro.store.blobs import Blobs

SIZE_HEADER = "x-output-bytes"


async def stage_output(state: RunStateView, stage_id: str, blobs: Blobs, *, offset: int, limit: int) -> Response:
    """A piece of what the command wrote.

    Raises:
        NotFound: `stage_not_found`, `output_not_found`: the stage is no command.
        Conflict: `output_not_ready`: the command has not ended.
    """
    command = _command(state, stage_id)
    if command.output_blob is None:
        content = command.output.encode()[offset : offset + limit]
    else:
        content = await blobs.get(command.output_blob, offset=offset, limit=limit)
    headers = {SIZE_HEADER: str(command.output_bytes)}
    return Response(content, headers=headers, media_type="text/plain; charset=utf-8")


def _command(state: RunStateView, stage_id: str) -> CommandView:
    stage = next((stage for stage in state.stages if stage.stage_id == stage_id), None)
    if stage is None:
        raise NotFound(f"run {state.run.id} has no stage {stage_id!r}", code="stage_not_found")
    if stage.command is None:
        raise NotFound(f"stage {stage_id!r} runs no command", code="output_not_found")
    if stage.command.termination is None and stage.ended_at is None:
        raise Conflict(
            f"the command of stage {stage_id!r} has not ended", code="output_not_ready", hint="Ask again then."
        )
    return stage.command
