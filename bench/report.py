"""How a benchmark tells its figures: a table for people, `--json` for programs. Above: each benchmark.

`ratio` is ours over the peer (over the floor where there is no peer); `goal` is what it is held against.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measured thing. None stands for "not measured" or "no goal"."""

    name: str
    unit: str
    ours: float
    peer: float | None = None
    floor: float | None = None
    goal: str | None = None
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the peer, or over the floor where there is no peer."""
        other = self.peer if self.peer is not None else self.floor
        return None if not other else self.ours / other


def median(measure: Callable[[], float], repeats: int = REPEATS) -> float:
    """The median of several runs."""
    return statistics.median(measure() for _ in range(repeats))


def wants_json(title: str) -> bool:
    """Whether the command line asks for JSON."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", action="store_true", help="print the rows as one JSON object")
    return bool(parser.parse_args().json)


def show(title: str, rows: list[Row], *, as_json: bool) -> None:
    """Print the rows."""
    if as_json:
        print(json.dumps({"rows": [{**asdict(row), "ratio": row.ratio} for row in rows]}, indent=2))
        return
    table = Table("what", "unit", "ours", "peer", "floor", "ratio", "goal", "met", title=title)
    for row in rows:
        met = "" if row.met is None else ("yes" if row.met else "NO")
        cells = (row.ours, row.peer, row.floor, row.ratio)
        table.add_row(row.name, row.unit, *map(_number, cells), row.goal or "", met)
    Console(width=150).print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
