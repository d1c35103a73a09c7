"""What the documentation shows: each workflow in it is a file of examples/, and each of those files runs."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabro.assembly import System
from fabro.calls import RunIntent
from fabro.cli.workflow_files import workflow_reader
from fabro.clock import SystemClock
from fabro.ids import new_run_id
from fabro.run.spec import RunArgs
from fabro.run.target import FolderTarget
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.local import LocalProvider
from fabro.testing.memory_system import memory_system
from fabro.workflow.package import package

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.fabro"))
NAMED = re.compile(r"<!-- (?P<file>examples/\S+) -->\n```dot\n(?P<text>.*?)```\n", re.DOTALL)
INPUTS: Mapping[str, Mapping[str, str]] = {"hello": {"name": "Ada"}}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_workflow_on_a_page_is_the_file_that_it_names(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = NAMED.findall(text)
    assert len(shown) == text.count("```dot"), "a workflow on the page has no file named above it"
    for name, body in shown:
        assert (ROOT / name).read_text(encoding="utf-8") == body, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


async def run_to_end(system: System, example: Path, workspace: Path) -> str:
    packed = package(example.name, workflow_reader(example.parent))
    calls = system.operations("docs")
    version = [await calls.versions.create(version) for version in packed.versions][-1]
    args = RunArgs(auto_approve=True, inputs=INPUTS.get(example.stem, {}))
    target = FolderTarget(path=str(workspace))
    run = await calls.runs.create(RunIntent(workflow_version_id=version, target=target, args=args))
    await calls.runs.start(run.id)
    waited = await calls.runs.wait([run.id], until="terminal", timeout_seconds=60)
    return str(waited.runs[0].lifecycle.status)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.parent.name + "/" + example.name)
async def test_each_example_runs(example: Path, tmp_path: Path, fabro_home: Mapping[str, str]) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "one.py").write_text("pass\n", encoding="utf-8")
    (workspace / "pyproject.toml").write_text('version = "1.2.3"\n', encoding="utf-8")
    keeper = Keeper(new_run_id(SystemClock().now()))
    try:
        provider = LocalProvider(tmp_path / "runs", keeper, environment=fabro_home)
        async with memory_system(sandboxes=provider) as system:
            assert await run_to_end(system, example, workspace) == "succeeded(completed)"
    finally:
        await keeper.aclose()
