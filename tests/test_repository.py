"""Rules that no linter knows: what files say, how long they are, and where they stand."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fabro"
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 50
TEST_FOLDERS_OF_THEIR_OWN = frozenset({"e2e"})
"""Folders under tests/ that mirror no folder of the package."""
LAZY_IMPORTS = ("assembly.py", "cli/", "models/catalogue.py")
"""Where functions may import: what picks implementations by need, and the commands."""
PURE_ENGINE_MODULES = ("decide", "route", "retry", "join")
PLACES = (ROOT, Path.home(), Path("/").joinpath("work"))
HOSTS = tuple(f"{name}.org" for name in ("pypi", "files.pythonhosted", "registry.npmjs", "deb.debian"))
STAND_IN = re.compile(r"\b(Magic|Async|Property)?Moc[k]\b|\bmonkeypatch\.setatt[r]|\bmoc[k]er\b")
SLEEP = re.compile(r"\b(anyio|asyncio|time|SystemClock\(\))\.slee[p]\(|(?<![\w.])slee[p]\(")
"""Waiting for time to pass; `clock.sleep` of a FakeClock passes none."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> tuple[Path, ...]:
    """Every file that is, or could be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=30,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


def sources() -> Iterator[tuple[str, Path]]:
    """The package's modules, with their place in it."""
    return ((path.relative_to(PACKAGE).as_posix(), path) for path in sorted(PACKAGE.rglob("*.py")))


def functions(module: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(module) if isinstance(node, Function))


def code_lines(function: Function) -> int:
    """Lines of a function's body after its docstring."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def place_pattern(places: tuple[Path, ...], hosts: tuple[str, ...]) -> re.Pattern[str]:
    """Matches a path in one of the places (not a part of a longer path), or one of the hosts."""
    paths = "|".join(re.escape(str(place)) for place in places if place != Path("/"))
    return re.compile(rf"(?<![\w./~-])(?:{paths})/|\b(?:{'|'.join(map(re.escape, hosts))})\b")


def test_no_file_names_a_place_of_this_machine_or_a_registry() -> None:
    pattern = place_pattern(PLACES, HOSTS)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in files()
        for number, line in enumerate(text(path).splitlines(), start=1)
        if (match := pattern.search(line))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "is_place"),
    [
        ('"/a/b/file"', True),
        ("see https://files.example.net/x", True),
        ("src/a/b/file", False),
        ("/x/a/b/file", False),
        ("/a/bc", False),
        ("myexample.net", False),
    ],
)
def test_a_place_is_told_from_a_part_of_a_path(*, line: str, is_place: bool) -> None:
    assert bool(place_pattern((Path("/a/b"), Path("/")), ("example.net",)).search(line)) is is_place


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "CHANGELOG.md", "check", "demo", ".ci/run"])
def test_what_a_visitor_looks_for_is_there(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()


def test_the_newest_entry_of_the_changelog_is_the_version() -> None:
    version = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["version"]
    first = next(line for line in text(ROOT / "CHANGELOG.md").splitlines() if line.startswith("## "))
    assert first.split()[1] == version


def test_every_module_says_what_it_is() -> None:
    assert [place for place, path in sources() if not ast.get_docstring(tree(path))] == []


def test_no_file_is_long() -> None:
    lengths = ((place, text(path).count("\n")) for place, path in sources())
    assert [f"{place}: {lines} lines" for place, lines in lengths if lines > MAX_FILE_LINES] == []


def test_no_function_is_long() -> None:
    long = [
        f"{place}:{function.lineno} {function.name}: {code_lines(function)} lines"
        for place, path in sources()
        for function in functions(tree(path))
        if code_lines(function) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_functions_import_only_where_loading_late_is_meant() -> None:
    late = [
        f"{place}:{node.lineno} {ast.unparse(node)}"
        for place, path in sources()
        if not place.startswith(LAZY_IMPORTS)
        for function in functions(tree(path))
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def test_the_pure_modules_of_the_engine_are_under_contract() -> None:
    contracts = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    named = next(one["source_modules"] for one in contracts if one["name"] == "what decides does no I/O")
    present = [name for name in PURE_ENGINE_MODULES if (PACKAGE / "engine" / f"{name}.py").exists()]
    assert [name for name in present if f"fabro.engine.{name}" not in named] == []


def test_tests_stand_where_their_sources_stand() -> None:
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    mirrored = [folder for folder in folders if not TEST_FOLDERS_OF_THEIR_OWN & {*folder.parts[:1]}]
    assert sorted(str(folder) for folder in mirrored if not (PACKAGE / folder).is_dir()) == []


def test_tests_use_real_parts_and_wait_for_facts() -> None:
    """No stand-ins for the product's own parts, and no waiting for time to pass."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(text(path).splitlines(), start=1)
        if STAND_IN.search(line) or SLEEP.search(line)
    ]
    assert found == []
