"""`fabro create`: like `run`, without starting. Above: main. Below: submit."""

import typer

from fabro.calls import Calls
from fabro.cli.options import settings
from fabro.cli.output import output_for
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


def create(
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
) -> None:
    """Create a run without starting it.

    Prints the run's id; `fabro start` starts it.
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

    async def act(calls: Calls) -> RunView:
        return await create_run(calls, found, intent, output)

    created = ask_server(chosen, act)
    if output.as_json:
        output.json(created)
    else:
        output.line(created.id)
        output.note(f"start it: fabro start {created.id}")
