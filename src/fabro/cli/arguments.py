"""Arguments that several commands take. Above: commands. Below: nothing."""

from typing import Annotated, TypeAlias

import typer

Run: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="The beginning of a run's id, or a workflow's name for its newest run.")
]
Runs: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Beginnings of run ids, or workflows' names.")
]
