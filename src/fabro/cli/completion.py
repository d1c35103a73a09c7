"""`fabro completion`, and what the scripts call. Above: main. Below: typer."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters

from fabro.cli.lazy import Loaded
from fabro.cli.options import settings
from fabro.cli.output import output_for

_BASH = """_fabro_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _FABRO_COMPLETE=complete_bash fabro))
}
complete -o default -F _fabro_completion fabro"""
_ZSH = """#compdef fabro
_fabro_completion() {
    eval "$(_TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _FABRO_COMPLETE=complete_zsh fabro)"
}
compdef _fabro_completion fabro"""
_FISH = """function __fabro_complete
    set -lx _FABRO_COMPLETE complete_fish
    set -lx _TYPER_COMPLETE_FISH_ACTION $argv[1]
    set -lx _TYPER_COMPLETE_ARGS (commandline -cp)
    fabro
end
complete --command fabro --no-files \\
    --arguments '(__fabro_complete get-args)' --condition '__fabro_complete is-args'"""


class Shell(StrEnum):
    """Shells that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_SCRIPTS = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}


def completion(ctx: typer.Context, shell: Annotated[Shell, typer.Argument(help="Whose script.")]) -> None:
    """Print a script that completes in a shell.

    For bash: fabro completion bash >> ~/.bashrc
    """
    output_for(settings(ctx)).line(_SCRIPTS[shell])


def complete(command: Loaded) -> None:
    """Answer the script that asks, through the environment, how a line may go on; exits."""
    get_completion_inspect_parameters()  # what teaches typer the shells
    command.main(prog_name="fabro", complete_var="_FABRO_COMPLETE")
