"""What commands print: text for people, JSON for programs, tables. Above: every command. Below: visible, rich.

Results go to standard output, everything said about them to standard error; with `--json` standard output holds
JSON and nothing else.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TextIO, cast

from fabro.cli.options import Settings
from fabro.cli.visible import visible, visible_line
from fabro.clock import to_text
from fabro.json_value import JsonValue

if TYPE_CHECKING:
    from rich.console import Console

NO_TERMINAL_WIDTH = 1 << 14
"""Columns of a table that no terminal bounds."""
NARROWEST_COLUMN = 8
GAP = "  "
STATUS_STYLES = {
    "succeeded": "green",
    "partially_succeeded": "yellow",
    "failed": "red",
    "dead": "red",
    "cancelled": "red",
    "blocked": "yellow",
    "waiting": "yellow",
    "running": "cyan",
    "retrying": "yellow",
    "ok": "green",
    "warning": "yellow",
    "error": "red",
}
"""Colours of the words that a glance should find."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The two streams and how they are written to.

    `moves` allows lines that change in place, `colour` colours; `ascii` forbids every character beyond ASCII among
    the command's own.
    """

    out: TextIO
    err: TextIO
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    moves: bool = False
    colour: bool = False
    ascii: bool = True
    width: int = NO_TERMINAL_WIDTH

    def line(self, text: str = "") -> None:
        """A line of the result; several where the text holds newlines."""
        print(visible(text), file=self.out, flush=True)

    def note(self, text: str) -> None:
        """A remark for a person who looks on; not with `--quiet`."""
        if not self.quiet:
            print(visible(text), file=self.err, flush=True)

    def warn(self, text: str) -> None:
        """A remark that matters even with `--quiet`."""
        print(f"warning: {visible(text)}", file=self.err, flush=True)

    def json(self, value: object) -> None:
        """One JSON document: on one line for a program, indented for a person at a terminal."""
        indent = 2 if self.out.isatty() else None
        print(self._dumps(value, indent), file=self.out, flush=True)

    def jsonl(self, value: object) -> None:
        """One line of a stream of JSON documents."""
        print(self._dumps(value, None), file=self.out, flush=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, elastic: str) -> None:
        """Columns for people; on a narrow terminal the `elastic` one gives way. Status words have their colour."""
        from rich.text import Text

        cells = [[visible_line(cell) for cell in row] for row in rows]
        widths = fit(headings, cells, elastic=headings.index(elastic), width=self.width)
        console = self.console()
        for row in (headings, *cells):
            styles = ["bold" if row is headings else STATUS_STYLES.get(cell, "") for cell in row]
            parts = zip(_padded(row, widths), styles, strict=True)
            console.print(Text(GAP).join(Text(cell, style) for cell, style in parts), soft_wrap=True)

    def console(self) -> "Console":
        """Rich on standard output, bound to what this output allows."""
        from rich.console import Console

        return Console(
            file=self.out,
            width=None if self.moves else self.width,
            no_color=not self.colour,
            force_terminal=self.moves or self.colour,
            color_system="standard" if self.colour else None,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def _dumps(self, value: object, indent: int | None) -> str:
        encoding = (self.out.encoding or "ascii").replace("-", "").lower()
        return json.dumps(to_json(value), indent=indent, ensure_ascii=encoding != "utf8")


def output_for(settings: Settings) -> Output:
    """The output of this process's standard streams.

    Nothing moves or is coloured without a terminal or on a dumb one, nothing is coloured with NO_COLOR (any value
    but the empty one).
    """
    environment, out = settings.environment, sys.stdout
    moves = out.isatty() and environment.get("TERM", "dumb") not in ("", "dumb")
    columns = shutil.get_terminal_size().columns if out.isatty() else NO_TERMINAL_WIDTH
    return Output(
        out=out,
        err=sys.stderr,
        as_json=settings.json,
        quiet=settings.quiet,
        verbose=settings.verbose,
        moves=moves,
        colour=moves and not environment.get("NO_COLOR"),
        ascii=not speaks_unicode(environment, out.encoding),
        width=max(20, columns),
    )


def speaks_unicode(environment: Mapping[str, str], encoding: str | None) -> bool:
    """Whether marks beyond ASCII can be shown: the locale's own word counts, not Python's UTF-8 mode."""
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return "utf" in locale.lower() and "utf" in (encoding or "").lower()


def fit(headings: Sequence[str], rows: Sequence[Sequence[str]], *, elastic: int, width: int) -> list[int]:
    """Cells (of a terminal, where some characters take two) for each column, at most `width` in all if possible."""
    from rich.cells import cell_len

    widths = [max(cell_len(line[column]) for line in (headings, *rows)) for column in range(len(headings))]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    if excess > 0:
        widths[elastic] = max(min(NARROWEST_COLUMN, widths[elastic]), widths[elastic] - excess)
    return widths


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The cells in their columns' widths; nothing trails the last one."""
    from rich.cells import set_cell_size

    padded = [set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return [*padded[:-1], padded[-1].rstrip()]


def to_json(value: object) -> JsonValue:
    """A view as JSON: every field of a fact is there, null where it is None; times are RFC 3339."""
    match value:
        case str():  # enums of words are words
            return str(value)
        case None | bool() | int() | float():
            return value
        case datetime():
            return to_text(value)
        case Mapping():
            return {str(key): to_json(item) for key, item in cast("Mapping[object, object]", value).items()}
        case Sequence():
            return [to_json(item) for item in cast("Sequence[object]", value)]
        case _:
            assert is_dataclass(value)
            return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
