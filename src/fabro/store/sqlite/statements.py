"""SQL from its files, by name. Above: the other modules here. Below: nothing."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAMED = re.compile(r"^-- name: (?P<name>\w+)\n(?P<body>.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)


@cache
def statements() -> Mapping[str, str]:
    """The named statements of `queries.sql`."""
    return {match["name"]: match["body"].strip() for match in _NAMED.finditer(_read("queries.sql"))}


@cache
def schema() -> str:
    """What makes a fresh database."""
    return _read("schema.sql")


@cache
def migrations() -> tuple[str, ...]:
    """The scripts that lead from an empty database to today's, the first being number 1."""
    folder = files("fabro.store") / "sql" / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(_read(f"migrations/{name}") for name in names)


def _read(name: str) -> str:
    return (files("fabro.store") / "sql" / name).read_text(encoding="utf-8")
