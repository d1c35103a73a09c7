"""`fabro output`. Above: main. Below: calls, the client's plain requests."""

import codecs
from collections.abc import Callable
from typing import Annotated

import anyio
import typer

from fabro.calls import RunStateView
from fabro.cli.arguments import Run
from fabro.cli.options import Settings, settings
from fabro.cli.output import Output, output_for
from fabro.cli.session import connected, requests
from fabro.cli.visible import visible
from fabro.errors import NotFound, Unavailable
from fabro.projections.detail import CommandView, StageView

PIECE_BYTES = 1 << 20


def output(
    ctx: typer.Context,
    run: Run,
    stage: Annotated[
        str, typer.Argument(metavar="STAGE", help="A stage, for instance build@2, or a node for its last stage.")
    ],
) -> None:
    """Show what a stage's command printed.

    On a terminal control characters are shown as escapes; a file or a pipe gets the bytes as they were. With --json
    long output is shortened in its middle.
    """
    anyio.run(_show, settings(ctx), run, stage)


async def _show(chosen: Settings, run: str, stage: str) -> None:
    printer = output_for(chosen)
    async with connected(chosen) as calls:
        state = await calls.runs.state(await calls.runs.resolve(run))
    found = _stage(state, stage)
    command = found.command
    if command is None:
        raise NotFound(f"stage {found.stage_id} ran no command: it is of the kind {found.handler_type}")
    if printer.as_json:
        printer.json({"stage_id": found.stage_id, "command": command})
        return
    await _copy(chosen, state, found, command, _sink(printer))


async def _copy(
    chosen: Settings, state: RunStateView, stage: StageView, command: CommandView, sink: Callable[[bytes], None]
) -> None:
    """Everything that the command wrote, piece by piece.

    Raises:
        Conflict: `output_not_ready`: the command has not ended.
        Unavailable: `output_incomplete`: not everything was kept.
    """
    from fabro.client.paths import run_path

    path = run_path(state.run.id, "stages", stage.stage_id, "output")
    offset = 0
    async with requests(chosen) as http:
        while True:
            answer = await http.ask("GET", path, params={"offset": offset, "limit": PIECE_BYTES})
            sink(answer.content)
            offset += len(answer.content)
            if offset >= command.output_bytes:
                return
            if not answer.content:
                raise Unavailable(
                    f"{offset} of {command.output_bytes} bytes were kept; the rest is lost",
                    code="output_incomplete",
                )


def _sink(printer: Output) -> Callable[[bytes], None]:
    """Where pieces go: as they are, or onto a terminal, made visible."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def show(piece: bytes) -> None:
        printer.out.write(visible(decoder.decode(piece)))

    def copy(piece: bytes) -> None:
        printer.out.buffer.write(piece)

    return show if printer.out.isatty() else copy


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
