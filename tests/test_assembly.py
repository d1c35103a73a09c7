"""A whole system on a storage folder: real stores, a real shell, a scripted model."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from fabro.assembly import System, open_system
from fabro.calls import RunIntent
from fabro.clock import SystemClock
from fabro.errors import Conflict, StorageError
from fabro.ids import RunId
from fabro.models.access import ModelAccess
from fabro.models.port import ModelError, Prompt
from fabro.models.scripted import SCRIPT_VARIABLE
from fabro.run.question import Text
from fabro.run.target import NoTarget
from fabro.testing.fake_clock import FakeClock
from tests.workflows import version

pytestmark = pytest.mark.anyio

EVERYTHING = """
digraph Everything {
  start [shape=Mdiamond]; exit [shape=Msquare]
  build [shape=parallelogram, script="echo built; seq 1 20000"]
  pause [shape=insulator, type="wait", duration="10ms"]
  ask   [shape=tab, prompt="How?", model="scripted"]
  gate  [shape=hexagon, label="Go on?"]
  start -> build -> pause -> ask -> gate
  gate -> exit [label="[Y] Yes"]
}
"""
HEAVY = ("anthropic", "fastapi", "google.genai", "mcp", "openai", "pydantic_ai", "sqlite3", "uvicorn")


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "like so"}]))
    return {"PATH": "/usr/bin:/bin", SCRIPT_VARIABLE: str(script)}


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def start(system: System) -> RunId:
    operations = system.operations("test")
    version_id = await operations.versions.create(version(EVERYTHING))
    run = await operations.runs.create(RunIntent(workflow_version_id=version_id, target=NoTarget()))
    await operations.runs.start(run.id)
    return run.id


async def test_every_kind_of_node_executes_and_a_restart_loses_nothing(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    clock = SystemClock()
    with anyio.fail_after(30):
        async with open_system(tmp_path / "storage", environment, clock, socket="/s") as system:
            run_id = await start(system)
            waited = await system.operations(None).runs.wait([run_id], until="blocked", timeout_seconds=20)
            assert not waited.timed_out
            assert await system.unfinished_runs() == 1
            with pytest.raises(Conflict) as caught:
                async with open_system(tmp_path / "storage", environment, clock):
                    pass
            assert (caught.value.code, caught.value.details["socket"]) == ("storage_in_use", "/s")
        async with open_system(tmp_path / "storage", environment, clock) as system:
            operations = system.operations(None)
            await operations.questions.answer(run_id, "gate@1", Text(text="y"))
            waited = await operations.runs.wait([run_id], until="terminal", timeout_seconds=20)
            state = await operations.runs.state(run_id)
            assert await system.unfinished_runs() == 0
            command = next(stage.command for stage in state.stages if stage.command is not None)
            assert command.output_blob is not None
            output = await system.blobs.get(command.output_blob)
    assert str(state.run.lifecycle.status) == "succeeded(completed)"
    assert [stage.stage_id for stage in state.stages] == ["start@1", "build@1", "pause@1", "ask@1", "gate@1"]
    assert output.startswith(b"built\n1\n")
    assert output.endswith(b"\n20000\n")
    prompt = next(stage.prompt for stage in state.stages if stage.prompt is not None)
    assert prompt.response == "like so"


async def test_foreign_storage_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch()
    with pytest.raises(StorageError) as caught:
        async with open_system(tmp_path, {}, SystemClock()):
            pass
    assert caught.value.code == "storage_foreign"
    assert names(tmp_path) == ["theirs"]


async def test_models_are_opened_once_and_asked_again_when_they_fail_in_passing(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"error": "rate_limit"}, {"error": "server"}, {"text": "at last"}]))
    clock = FakeClock(auto_advance=True)
    models = ModelAccess({SCRIPT_VARIABLE: str(script)}, clock)
    ref = models.choose("scripted", None)
    model = await models.open(ref)
    assert (await model.complete(Prompt(text="?"))).text == "at last"
    assert 1.5 <= clock.monotonic() < 4.5
    again = await models.open(ref)
    assert (await again.complete(Prompt(text="?"))).text == "at last"
    await models.aclose()


async def test_a_model_that_is_not_set_up_says_so() -> None:
    models = ModelAccess({}, SystemClock())
    with pytest.raises(ModelError):
        await models.open(models.choose("anthropic", None))


def test_what_is_heavy_is_loaded_late() -> None:
    program = f"import sys, fabro.assembly; print([name for name in {HEAVY!r} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "[]"
