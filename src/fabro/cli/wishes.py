"""The options that `run` and `create` share, declared once. Above: run, create. Below: submit."""

from typing import Annotated, TypeAlias

import typer

Workflow: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE|FOLDER|NAME",
        help="A graph, a workflow.toml, a folder with one, or a name under .fabro/workflows.",
        show_default=False,
    ),
]
Inputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-I",
        metavar="NAME=VALUE",
        help="Set an input; numbers, true and false are typed, quotes make text.",
    ),
]
Labels: TypeAlias = Annotated[
    list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="Label the run; may be repeated.")
]
Goal: TypeAlias = Annotated[
    str | None, typer.Option("--goal", metavar="TEXT", help="What to achieve, instead of the workflow's own goal.")
]
GoalFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--goal-file", metavar="FILE", help="Read the goal from a file, or with - from standard input."),
]
Model: TypeAlias = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model of its agents.")]
Provider: TypeAlias = Annotated[
    str | None, typer.Option("--provider", metavar="NAME", help="The provider of that model.")
]
Title: TypeAlias = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="One line that names the run.")
]
TargetFolder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="none|folder:PATH",
        help="Where it works: an empty folder of its own, or a folder. This folder where nothing is said.",
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Simulate: no command is run and no model is called.")
]
AutoApprove: TypeAlias = Annotated[
    bool, typer.Option("--auto-approve", help="Answer its questions automatically: yes, or the first option.")
]
