"""The options that every command takes, before or after its name. Above: main, every command. Below: paths.

A command finds their values with `settings(ctx)`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import typer


@dataclass(kw_only=True, slots=True)
class Settings:
    """What the global options say; filled while the command line is parsed, read by the command.

    `json_is_named` says that `--json` stands somewhere in a command line that may not be parsed to its end.
    `server` and `storage_dir` are None where no option named them; the environment may still do so.
    """

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    json_is_named: bool = False
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    server: str | None = None
    storage_dir: str | None = None


def settings(ctx: typer.Context) -> Settings:
    """The settings of a running command."""
    found = ctx.find_object(Settings)
    assert found is not None
    return found


def _flag(name: str) -> Callable[[typer.Context, bool], None]:
    def take(ctx: typer.Context, value: bool) -> None:
        if value:
            setattr(settings(ctx), name, True)

    return take


def _text(name: str) -> Callable[[typer.Context, str | None], None]:
    def take(ctx: typer.Context, value: str | None) -> None:
        if value is not None:
            setattr(settings(ctx), name, value)

    return take


def _show_help(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print(ctx.get_help())
        raise typer.Exit


def declare(
    *,
    as_json: Annotated[
        bool,
        typer.Option("--json", callback=_flag("json"), expose_value=False, help="Print JSON for programs."),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", callback=_flag("quiet"), expose_value=False, help="Print only results."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", callback=_flag("verbose"), expose_value=False, help="Print more.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", callback=_flag("debug"), expose_value=False, help="Print the traceback of an internal error."
        ),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            callback=_text("server"),
            expose_value=False,
            metavar="URL|SOCKET",
            help="Use this server instead of the local one (or set FABRO_SERVER).",
        ),
    ] = None,
    storage_dir: Annotated[
        str | None,
        typer.Option(
            "--storage-dir",
            callback=_text("storage_dir"),
            expose_value=False,
            metavar="FOLDER",
            help="Use the local server of this storage folder (or set FABRO_STORAGE_DIR).",
        ),
    ] = None,
    show_help: Annotated[
        bool,
        typer.Option(
            "--help", "-h", callback=_show_help, expose_value=False, is_eager=True, help="Show this text and exit."
        ),
    ] = False,
) -> None:
    """Declares the options, and is never called: their callbacks fill the settings.

    Help is among them because typer's own would load pydantic, which takes longer than a small command's work.
    """
