"""The command `fabro`: the table of its commands and the entry of the process. Above: nothing. Below: commands.

Nothing heavy is imported here: `fabro --help` and `fabro version` start at once.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from fabro import installed_version
from fabro.cli.boundary import Usage, guarded
from fabro.cli.lazy import Entry, LazyGroup, Loaded, with_global_options
from fabro.cli.options import Settings
from fabro.cli.streams import prepare_streams

PROGRAM = "fabro"
COMPLETION_VARIABLE = "_FABRO_COMPLETE"
RUN, LOOK, STEER = "Run workflows", "Look", "Steer"
SERVER, MCP, OTHER = "Server", "MCP", "Other"
COMMANDS: Mapping[str, Entry] = {
    "run": Entry(section=RUN, help="Run a workflow and show how it goes.", address="fabro.cli.run:run"),
    "create": Entry(section=RUN, help="Create a run without starting it.", address="fabro.cli.create:create"),
    "start": Entry(section=RUN, help="Start a run that was created.", address="fabro.cli.start:start"),
    "validate": Entry(
        section=RUN, help="Check workflows and show what to mend.", address="fabro.cli.validate_command:validate"
    ),
    "workflow": Entry(section=RUN, help="Register workflows with the server.", address="fabro.cli.workflow:app"),
    "ps": Entry(section=LOOK, help="List runs.", address="fabro.cli.ps:ps"),
    "attach": Entry(section=LOOK, help="Show a run's progress until it ends.", address="fabro.cli.attach:attach"),
    "inspect": Entry(section=LOOK, help="Show a run in full.", address="fabro.cli.inspect:inspect"),
    "events": Entry(section=LOOK, help="Show what happened in a run.", address="fabro.cli.events:events"),
    "output": Entry(
        section=LOOK, help="Show what a stage's command printed.", address="fabro.cli.stage_output:output"
    ),
    "wait": Entry(section=LOOK, help="Wait until runs have ended.", address="fabro.cli.wait:wait"),
    "questions": Entry(section=STEER, help="List a run's open questions.", address="fabro.cli.questions:questions"),
    "answer": Entry(section=STEER, help="Answer a run's question.", address="fabro.cli.answer:answer"),
    "cancel": Entry(section=STEER, help="End runs before they are done.", address="fabro.cli.cancel:cancel"),
    "server": Entry(
        section=SERVER, help="Start, stop and look at this machine's server.", address="fabro.cli.server:app"
    ),
    "mcp": Entry(section=MCP, help="Serve the run tools to MCP clients.", address="fabro.cli.mcp:app"),
    "doctor": Entry(section=OTHER, help="Check that everything is in place.", address="fabro.cli.doctor:doctor"),
    "version": Entry(
        section=OTHER, help="Show the version of command and server.", address="fabro.cli.version:version"
    ),
    "completion": Entry(
        section=OTHER, help="Print a script that completes in a shell.", address="fabro.cli.completion:completion"
    ),
}


EXAMPLE = """
\b
First steps:
  fabro run hello.fabro        run the workflow in a file, in this folder
  fabro ps --all               list runs
  fabro inspect RUN            what a run did, stage by stage
  fabro answer RUN yes         answer the question that a run waits on
  fabro mcp start              what an MCP client starts to do all this

RUN is the beginning of a run's id, or a workflow's name for its newest run.
"""


def _print_version(value: bool) -> None:
    if value:
        print(f"{PROGRAM} {installed_version()}")
        raise typer.Exit


class Root(LazyGroup):
    """All commands."""

    table = COMMANDS


def main() -> None:
    """Run the command line of this process and exit."""
    sys.exit(execute(sys.argv[1:], os.environ))


def execute(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command line; the exit code (docs/cli.md lists them)."""
    prepare_streams(environment)
    named = arguments[: arguments.index("--")] if "--" in arguments else arguments
    settings = Settings(environment=environment, json_is_named="--json" in named)
    return guarded(lambda: _invoke(list(arguments), settings), settings)


def root_command() -> Loaded:
    """The command above all others."""
    app = typer.Typer(
        cls=Root,
        name=PROGRAM,
        add_completion=False,
        rich_markup_mode=None,
        subcommand_metavar="COMMAND ...",
        options_metavar="[OPTIONS]",
        epilog=EXAMPLE,
    )
    app.callback()(root)
    return with_global_options(app)


def root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.", callback=_print_version)
    ] = False,
) -> None:
    """Durable workflows of agents, commands and people.

    A workflow is a graph in a file. A run of it lives on a server, which the first command starts in the background
    on this machine; a run goes on when the terminal is closed.
    """


def _invoke(arguments: list[str], settings: Settings) -> None:
    if sys.platform == "win32":
        raise Usage("fabro runs on Linux and macOS; on Windows use it in WSL", code="platform")
    command = root_command()
    if COMPLETION_VARIABLE in settings.environment:
        from fabro.cli.completion import complete

        complete(command)
    with command.make_context(PROGRAM, arguments or ["--help"], obj=settings) as context:
        command.invoke(context)
