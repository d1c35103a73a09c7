#!/usr/bin/env python3
"""Which statements of the seeds a test proves, and which are open.

`tests/requirements.toml` holds the statements. A test names those that it proves with
`@pytest.mark.requirement("id", ...)`, `tests/requirements_open.toml` lists those that no test names, and the two
must fit. Above: `./check` and tests/test_requirements.py. Below: the standard library.

usage: scripts/requirements.py [--check | --write]
  (no argument)  print the open ids of each part
  --check        print what does not fit, and fail when there is something
  --write        take what is proven by now off the list of open ids; it never adds one, since a proof that was lost
                 is to be looked at
"""

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS: Mapping[str, str] = {
    "A": "spine",
    "B": "engine",
    "C": "run tools",
    "D": "agents and MCP client",
    "E": "FABER",
    "F": "catalogue and web",
    "G": "many machines",
}
UNPROVEN_MARKS = frozenset({"skip", "skipif", "xfail"})
OPEN_HEADER = """\
# The requirements that no test names yet, by part (requirements.toml says what the letters mean). Whoever writes
# the proof of one takes it off: `python scripts/requirements.py --write` does so for all that are proven by now.
"""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A row of `tests/requirements.toml`."""

    id: str
    part: str


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A marker in a test: the id that it names, or None where it is not a literal, and its place as `path:line`."""

    id: str | None
    place: str


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """All that is known: the rows in file order, what is listed as open by part, and what the tests name."""

    rows: tuple[Requirement, ...]
    listed: Mapping[str, tuple[str, ...]]
    mentions: tuple[Mention, ...]

    def proven(self) -> frozenset[str]:
        """The ids that at least one test names."""
        return frozenset(mention.id for mention in self.mentions if mention.id is not None)

    def open(self) -> dict[str, tuple[str, ...]]:
        """The ids that no test names, by part, in the order of the rows."""
        proven = self.proven()
        return {part: tuple(r.id for r in self.rows if r.part == part and r.id not in proven) for part in PARTS}


def read_ledger(tests: Path) -> Ledger:
    """Read both lists in the folder `tests` and every marker under it.

    Raises:
        ValueError: a list has a shape other than the one that its first lines describe.
    """
    return Ledger(
        rows=tuple(_rows(tests / "requirements.toml")),
        listed=_listed(tests / "requirements_open.toml"),
        mentions=tuple(mentions_under(tests)),
    )


def _rows(path: Path) -> Iterator[Requirement]:
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["requirement"]:
        if row["part"] not in PARTS:
            raise ValueError(f"{path.name}: {row['id']} has the part {row['part']!r}, which is none of {[*PARTS]}")
        yield Requirement(id=row["id"], part=row["part"])


def _listed(path: Path) -> Mapping[str, tuple[str, ...]]:
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    if list(listed) != list(PARTS):
        raise ValueError(f"{path.name}: its keys are {[*listed]}, not {[*PARTS]}")
    return {part: tuple(ids) for part, ids in listed.items()}


def mentions_under(tests: Path) -> Iterator[Mention]:
    """The markers of all tests under a folder, read from their source; nothing is imported."""
    for path in sorted(tests.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "requirement" in source:
            yield from mentions_in(source, str(path.relative_to(tests.parent)))


def mentions_in(source: str, name: str) -> Iterator[Mention]:
    """The markers in one file's source. One on a test that is skipped or expected to fail proves nothing."""
    tree = ast.parse(source, name)
    ignored = {id(inner) for node in ast.walk(tree) if _proves_nothing(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _mark(node) == "requirement" and id(node) not in ignored:
            for argument in node.args:
                literal = argument.value if isinstance(argument, ast.Constant) else None
                yield Mention(id=literal if isinstance(literal, str) else None, place=f"{name}:{node.lineno}")


def _proves_nothing(node: ast.AST) -> bool:
    """Whether it is a test, or a class of tests, that is skipped or expected to fail."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(_mark(decorator) in UNPROVEN_MARKS for decorator in node.decorator_list)


def _mark(node: ast.expr) -> str | None:
    """NAME of `pytest.mark.NAME` or `pytest.mark.NAME(...)`."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Attribute):
        return function.attr if function.value.attr == "mark" else None
    return None


def problems(ledger: Ledger) -> list[str]:
    """What does not fit between the rows, the markers and the list of open ids, a line each."""
    ids = [row.id for row in ledger.rows]
    found = [f"requirements.toml: {twice} stands there more than once" for twice in _twice(ids)]
    for mention in ledger.mentions:
        if mention.id is None:
            found.append(f"{mention.place}: an id must be a literal string")
        elif mention.id not in ids:
            found.append(f"{mention.place}: {mention.id} is not in requirements.toml")
    for part, unproven in ledger.open().items():
        listed = ledger.listed[part]
        found += [f"requirements_open.toml: {twice} stands there more than once" for twice in _twice(listed)]
        found += [f"no test names {lost} any more ({part})" for lost in unproven if lost not in listed]
        found += [
            f"requirements_open.toml: take {proven} off {part}" for proven in listed if proven not in unproven
        ]
    return found


def _twice(ids: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [one for one in ids if one in seen or seen.add(one)]


def open_text(ids: Mapping[str, Iterable[str]]) -> str:
    """The text of `requirements_open.toml` for open ids by part."""
    lists = [f"{part} = [\n" + "".join(f'  "{one}",\n' for one in ids[part]) + "]\n" for part in PARTS]
    return OPEN_HEADER + "\n" + "\n".join(lists)


def table(ledger: Ledger) -> str:
    """The open ids of each part under a line with its count."""
    lines: list[str] = []
    for part, ids in ledger.open().items():
        total = sum(row.part == part for row in ledger.rows)
        lines += [f"{part} {PARTS[part]}: {len(ids)} of {total} open", *(f"  {one}" for one in ids)]
    open_count = sum(len(ids) for ids in ledger.open().values())
    return "\n".join([*lines, f"{len(ledger.rows) - open_count} of {len(ledger.rows)} proven"])


def main(arguments: list[str]) -> int:
    """Carry out one of the usages above and return the exit code."""
    tests = ROOT / "tests"
    ledger = read_ledger(tests)
    match arguments:
        case []:
            print(table(ledger))
        case ["--check"]:
            found = problems(ledger)
            print("\n".join(found) if found else table(ledger).splitlines()[-1])
            return 1 if found else 0
        case ["--write"]:
            proven = ledger.proven()
            kept = {part: [one for one in ids if one not in proven] for part, ids in ledger.listed.items()}
            (tests / "requirements_open.toml").write_text(open_text(kept), encoding="utf-8")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
