"""`fabro workflow`: workflows on the server. Above: main. Below: submit."""

import typer

from fabro.calls import Calls
from fabro.cli.options import settings
from fabro.cli.output import output_for
from fabro.cli.session import ask_server
from fabro.cli.submit import prepare, register
from fabro.cli.wishes import Workflow
from fabro.ids import VersionId

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Register workflows with the server."
)


@app.callback()
def group() -> None:
    """Register workflows with the server."""


@app.command("register")
def register_command(ctx: typer.Context, workflow: Workflow) -> None:
    """Store a workflow as an immutable version, and print its id.

    Equal files give the same id. Workflows that it calls are stored with it.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    found = prepare(workflow, environment=chosen.environment, output=output)

    async def act(calls: Calls) -> VersionId:
        return await register(calls, found)

    version_id = ask_server(chosen, act)
    if output.as_json:
        output.json({"workflow_version_id": version_id})
    else:
        output.line(version_id)
