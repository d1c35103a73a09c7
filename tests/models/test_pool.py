"""One model for everybody who asks."""

from pathlib import Path

import pytest

from fabro.models.pool import ModelPool
from fabro.models.port import ModelError, ModelRef, Prompt
from fabro.models.scripted import SCRIPT_VARIABLE, SCRIPTED
from fabro.testing.fake_clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_a_model_is_opened_once_and_its_script_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"text": "one"}, {"text": "two"}]')
    pool = ModelPool({SCRIPT_VARIABLE: str(path)}, FakeClock())
    first = pool.model(SCRIPTED)
    assert pool.model(SCRIPTED) is first
    answers = [(await pool.model(SCRIPTED).complete(Prompt(text="x"))).text for _ in range(2)]
    assert answers == ["one", "two"]
    await pool.aclose()
    await pool.aclose()


async def test_a_model_that_does_not_open_is_not_kept() -> None:
    pool = ModelPool({}, FakeClock())
    for _ in range(2):
        with pytest.raises(ModelError):
            pool.model(ModelRef(provider="openai", name="gpt-5.4"))
    await pool.aclose()
