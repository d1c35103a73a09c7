"""`fabro inspect`. Above: main. Below: calls, output."""

from datetime import timedelta

import typer

from fabro.calls import Calls, RunStateView
from fabro.cli.arguments import Run
from fabro.cli.ask import describe
from fabro.cli.follow import how_to_answer
from fabro.cli.options import settings
from fabro.cli.output import Output, output_for
from fabro.cli.ps import status_word
from fabro.cli.session import ask_server
from fabro.cli.visible import duration, shorten, visible_line
from fabro.clock import SystemClock, to_text
from fabro.ids import RunId
from fabro.projections.detail import StageView
from fabro.projections.run_view import RunView

HEADINGS = ("STAGE", "KIND", "STATE", "TOOK", "RESULT")
TAIL_LINES = 5
"""Lines of a failed command's output that are shown."""
LAST_STAGES = 50
"""How many stages are shown without `--verbose`."""


def inspect(ctx: typer.Context, run: Run) -> None:
    """Show a run in full.

    Its header, its stages with what came of them, what failed and why, and questions that are open. With --json the
    whole state; --verbose shows every stage and the end of every command's output.
    """
    chosen = settings(ctx)
    output = output_for(chosen)

    async def act(calls: Calls) -> RunStateView:
        return await calls.runs.state(await calls.runs.resolve(run))

    state = ask_server(chosen, act)
    if output.as_json:
        output.json(state)
        return
    _show_header(state, output)
    _show_stages(state, output)
    for stage in state.stages:
        _show_trouble(stage, state.run.id, output)
    for notice in state.notices:
        output.line(f"! {visible_line(notice)}")
    for question in state.questions:
        output.line(f"\n{describe(question)}\n{how_to_answer(state.run.id, question.id)}")


def _show_header(state: RunStateView, output: Output) -> None:
    run = state.run
    facts = [
        ("run", run.id),
        ("workflow", f"{run.workflow.slug} ({run.workflow.node_count} nodes, {run.workflow.edge_count} edges)"),
        ("title", run.title),
        ("goal", shorten(visible_line(run.goal), 500)),
        ("status", f"{status_word(run)}{_reason(run)}"),
        ("error", run.lifecycle.error.message if run.lifecycle.error else ""),
        ("created", to_text(run.timestamps.created_at)),
        ("took", _took(run)),
        ("folder", run.working_directory or run.source_directory or ""),
        ("inputs", ", ".join(f"{name}={value}" for name, value in state.inputs.items())),
        ("labels", ", ".join(f"{name}={value}" for name, value in run.labels.items())),
        ("usage", _usage(run)),
        ("version", run.workflow.version_id),
    ]
    for name, fact in facts:
        if fact:
            output.line(f"{name + ':':<10} {visible_line(fact)}")


def _show_stages(state: RunStateView, output: Output) -> None:
    stages = state.stages if output.verbose else state.stages[-LAST_STAGES:]
    hidden = len(state.stages) - len(stages)
    if hidden:
        output.note(f"\n{hidden} earlier stages are not shown; --verbose shows all")
    if stages:
        output.line()
        output.table(HEADINGS, [_row(stage) for stage in stages], elastic="RESULT")


def _row(stage: StageView) -> tuple[str, ...]:
    if stage.ended_at is not None and stage.duration_ms is None:
        took = duration(stage.ended_at - stage.started_at)
    elif stage.duration_ms is not None:
        took = duration(timedelta(milliseconds=stage.duration_ms))
    else:
        took = duration(SystemClock().now() - stage.started_at)
    return (stage.stage_id, stage.handler_type, stage.state.value, took, _result(stage))


def _result(stage: StageView) -> str:
    if stage.failure is not None:
        return stage.failure.message
    parts: list[str] = []
    if stage.command is not None and stage.command.exit_code is not None:
        parts.append(f"exit {stage.command.exit_code}")
    if stage.preferred_label:
        parts.append(f"-> {stage.preferred_label}")
    if stage.prompt is not None and stage.prompt.response is not None:
        parts.append(shorten(visible_line(stage.prompt.response), 120))
    return "  ".join([*parts, *([stage.notes] if stage.notes else [])])


def _show_trouble(stage: StageView, run_id: RunId, output: Output) -> None:
    """Why a stage failed, and the end of its output; with `--verbose` the output of every stage."""
    command, failure = stage.command, stage.failure
    if failure is not None:
        output.line(f"\n{stage.stage_id} failed: {failure.message}")
        for cause in failure.causes:
            output.line(f"  because: {cause}")
    elif not output.verbose:
        return
    if command is None or not command.output.strip():
        return
    if failure is None:
        output.line(f"\n{stage.stage_id} printed:")
    lines = command.output.rstrip().splitlines()
    for line in lines[-TAIL_LINES:]:
        output.line(f"  | {visible_line(line)}")
    if len(lines) > TAIL_LINES:
        output.line(f"  (the last {TAIL_LINES} of {len(lines)} lines; all: fabro output {run_id} {stage.stage_id})")


def _reason(run: RunView) -> str:
    reason = run.lifecycle.status.reason
    return f" ({reason})" if reason and reason not in ("cancelled", "completed") else ""


def _took(run: RunView) -> str:
    times = run.timestamps
    if times.started_at is None:
        return ""
    return duration((times.completed_at or SystemClock().now()) - times.started_at)


def _usage(run: RunView) -> str:
    usage = run.usage
    if not usage.input_tokens and not usage.output_tokens:
        return ""
    cost = "price not known" if usage.cost_micros is None else f"${usage.cost_micros / 1_000_000:.4f}"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out, {cost}"
