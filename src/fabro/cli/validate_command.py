"""`fabro validate` as a command; `validate` has what it does. Above: main. Below: validate."""

from typing import Annotated

import typer

from fabro.cli.options import settings
from fabro.cli.validate import validate as check


def validate(
    ctx: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Graphs, workflow.toml files, or folders.")],
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
) -> None:
    """Check workflows and show what to mend.

    Exit code 0 when all are valid, 1 when one is not, 2 when a path names no workflow. Nothing is run or sent.
    """
    raise typer.Exit(check(files, json_output=settings(ctx).json, strict=strict))
