"""Commands that are loaded when they are used. Above: main. Below: the global options, typer.

`fabro --help` must not wait for what only one command needs: until a command is invoked, or its own help is asked
for, it is a name, a line of help and an address.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import ClassVar, Protocol, TypeAlias, cast

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from fabro.cli.boundary import Usage
from fabro.cli.options import declare

Loaded: TypeAlias = TyperCommand | TyperGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A command in the table: `address` is `module:name` of a function, or of a Typer app for a group."""

    section: str
    help: str
    address: str


class Writer(Protocol):
    """What writes help texts."""

    def section(self, name: str) -> AbstractContextManager[None]:
        """A heading and, indented, what follows."""
        ...

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Two columns."""
        ...


class LazyGroup(TyperGroup):
    """A group whose commands stand in a table; a subclass sets `table`."""

    table: ClassVar[Mapping[str, Entry]] = {}

    def list_commands(self, ctx: object) -> list[str]:
        """The names, in the table's order."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: object, cmd_name: str) -> Loaded | None:
        """The command, loaded now; None where there is none of that name."""
        del ctx
        entry = self.table.get(cmd_name)
        return load(cmd_name, entry) if entry is not None else None

    def format_options(self, ctx: object, formatter: Writer) -> None:
        """The commands by their sections, without loading one, then the options."""
        del ctx
        for section in dict.fromkeys(entry.section for entry in self.table.values()):
            rows = [(name, entry.help) for name, entry in self.table.items() if entry.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)
        options = (param for param in self.params if isinstance(param, TyperOption))
        with formatter.section("Options, before or after the command"):
            formatter.write_dl([(_spelling(option), option.help or "") for option in options])

    def resolve_command(self, ctx: object, args: list[str]) -> tuple[str | None, Loaded | None, list[str]]:
        """The command that the first argument names.

        Raises:
            Usage: there is none; the hint names the nearest.
        """
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None:
            near = next(iter(get_close_matches(name, self.table, n=1)), None)
            hint = f"Did you mean `fabro {near}`?" if near else "`fabro --help` lists the commands."
            raise Usage(f"there is no command {name!r}", hint=hint)
        return name, command, rest


def load(name: str, entry: Entry) -> Loaded:
    """Import a command and give it the global options."""
    module, _, attribute = entry.address.partition(":")
    found: object = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return with_global_options(found)
    assert callable(found)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(found)
    return with_global_options(app)


def with_global_options(app: typer.Typer) -> Loaded:
    """The app as a command, it and all below it taking the global options that they do not declare themselves."""
    command = get_command(app)
    assert isinstance(command, TyperCommand | TyperGroup)
    for each in _tree(command):
        taken = {name for param in each.params for name in param.opts}
        each.params.extend(option for option in _global_options() if not taken & set(option.opts))
    return command


def _spelling(option: TyperOption) -> str:
    return ", ".join(option.opts) + (f" {option.metavar}" if option.metavar else "")


def _tree(command: Loaded) -> Iterator[Loaded]:
    yield command
    if isinstance(command, TyperGroup):
        for child in command.commands.values():
            if isinstance(child, TyperCommand | TyperGroup):
                yield from _tree(child)


def _global_options() -> list[TyperOption]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(declare)
    options = (param for param in get_command(app).params if isinstance(param, TyperOption))
    return [option if option.is_flag else _as_text(option) for option in options]


class _TextOption(TyperOption):
    """An option whose value is the text itself; typer would load pydantic to find that out."""

    def process_value(self, ctx: object, value: str | None) -> str | None:
        take = cast("Callable[[object, object, object], object]", self.callback)
        take(ctx, self, value)
        return value


def _as_text(option: TyperOption) -> _TextOption:
    return _TextOption(
        param_decls=list(option.opts),
        type_descriptor=option.type_descriptor,
        callback=option.callback,
        expose_value=False,
        metavar=option.metavar,
        help=option.help,
    )
