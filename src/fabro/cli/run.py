"""`fabro run`: a workflow from a file to its end. Above: main. Below: submit, following."""

from typing import Annotated

import typer

from fabro.calls import Calls
from fabro.cli.attach import attached, exit_code, follow
from fabro.cli.options import settings
from fabro.cli.output import Output, output_for
from fabro.cli.session import ask_server
from fabro.cli.submit import Wishes, create_run, intent_of, prepare
from fabro.cli.wishes import (
    AutoApprove,
    DryRun,
    Goal,
    GoalFile,
    Inputs,
    Labels,
    Model,
    Provider,
    TargetFolder,
    Title,
    Workflow,
)
from fabro.projections.run_view import RunView


def run(
    ctx: typer.Context,
    workflow: Workflow,
    *,
    inputs: Inputs = None,
    labels: Labels = None,
    goal: Goal = None,
    goal_file: GoalFile = None,
    model: Model = None,
    provider: Provider = None,
    title: Title = None,
    target: TargetFolder = None,
    dry_run: DryRun = False,
    auto_approve: AutoApprove = False,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Start it, print its id and return.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Without a terminal: keep waiting while the run waits for an answer.")
    ] = False,
) -> None:
    """Run a workflow and show how it goes.

    The workflow is checked, registered with the server and started; its commands work in this folder. Ctrl-C leaves
    the run going. The exit code is 0 only when the run succeeded, 5 when it waits for an answer that can't be asked
    for here.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    found = prepare(workflow, environment=chosen.environment, output=output)
    wishes = Wishes(
        inputs=tuple(inputs or ()),
        labels=tuple(labels or ()),
        goal=goal,
        goal_file=goal_file,
        model=model,
        provider=provider,
        title=title,
        target=target,
        dry_run=dry_run,
        auto_approve=auto_approve,
    )
    intent = intent_of(wishes, found)

    async def begin(calls: Calls) -> RunView:
        created = await create_run(calls, found, intent, output)
        return await calls.runs.start(created.id)

    async def begin_and_follow(calls: Calls) -> RunView:
        return await follow(calls, await begin(calls), output, stay=wait, attached=holder)

    if detach:
        _detached(ask_server(chosen, begin), output)
        return
    with attached(output) as holder:
        ended = ask_server(chosen, begin_and_follow)
    raise typer.Exit(exit_code(ended))


def _detached(started: RunView, output: Output) -> None:
    if output.as_json:
        output.json(started)
        return
    output.line(started.id)
    output.note(f"watch it: fabro attach {started.id}")
