"""What a command loads before it does anything: heavy libraries come where they are first needed."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

MAIN = """
import json, pathlib, sys
from fabro.cli.main import main
try:
    main()
except SystemExit as stop:
    if stop.code not in (None, 0):
        raise
finally:
    pathlib.Path({report!r}).write_text(json.dumps(sorted(sys.modules)))
"""
PACKAGE = """
import json, pathlib, sys
import fabro
pathlib.Path({report!r}).write_text(json.dumps(sorted(sys.modules)))
"""
MODELS = ("anthropic", "google.genai", "openai", "pydantic_ai", "xllamacpp")
STORES = ("procrastinate", "psycopg", "sqlite3", "fabro.store.postgres", "fabro.store.sqlite")
HELP = (*MODELS, *STORES, "fastapi", "httpx", "httpx2", "jinja2", "jsonschema", "mcp", "pydantic", "uvicorn")
MCP_START = (*MODELS, *STORES, "fastapi", "graphviz", "jinja2", "fabro.engine", "fabro.server")
"""Without uvicorn: the MCP SDK imports it by itself."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "import-test", "version": "1"},
    },
}


def modules_after(
    program: str, arguments: list[str], *, report: Path, environment: Mapping[str, str], standard_input: str = ""
) -> frozenset[str]:
    """The modules that a fresh interpreter holds when `program` has run as `fabro` with these arguments."""
    ended = subprocess.run(
        [sys.executable, "-c", program.format(report=str(report)), *arguments],
        input=standard_input,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return frozenset(json.loads(report.read_text(encoding="utf-8")))


def loaded(modules: frozenset[str], unwanted: tuple[str, ...]) -> list[str]:
    return sorted(name for name in unwanted if name in modules)


def test_importing_the_package_loads_nothing_else(tmp_path: Path, fabro_home: Mapping[str, str]) -> None:
    modules = modules_after(PACKAGE, [], report=tmp_path / "modules.json", environment=fabro_home)
    assert [name for name in modules if name.startswith("fabro.")] == []
    assert loaded(modules, HELP) == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_no_heavy_library(arguments: list[str], tmp_path: Path, fabro_home: Mapping[str, str]) -> None:
    modules = modules_after(MAIN, arguments, report=tmp_path / "modules.json", environment=fabro_home)
    assert loaded(modules, HELP) == []


def test_the_mcp_server_loads_neither_models_nor_stores_nor_the_web(
    tmp_path: Path, fabro_home: Mapping[str, str]
) -> None:
    modules = modules_after(
        MAIN,
        ["mcp", "start"],
        report=tmp_path / "modules.json",
        environment=fabro_home,
        standard_input=json.dumps(HELLO) + "\n",
    )
    assert loaded(modules, MCP_START) == []
