"""Scripts, from memory and from a file."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from fabro.models.catalogue import open_model
from fabro.models.port import ModelError, ModelErrorKind, Prompt
from fabro.models.scripted import SCRIPT_VARIABLE, SCRIPTED, Reply, ScriptedModel, read_script
from fabro.run.usage import Usage
from fabro.testing.fake_clock import FakeClock

pytestmark = pytest.mark.anyio
PROMPT = Prompt(text="two words", system="be kind")


def written(tmp_path: Path, script: object) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    return path


async def test_entries_play_in_order_and_the_last_repeats() -> None:
    model = ScriptedModel(["one", ModelError("no", kind=ModelErrorKind.SERVER), "two"])
    assert (await model.complete(PROMPT)).text == "one"
    with pytest.raises(ModelError):
        await model.complete(PROMPT)
    assert [(await model.complete(PROMPT)).text for _ in range(3)] == ["two"] * 3
    assert model.prompts == [PROMPT] * 5


async def test_usage_counts_words_for_nothing_unless_it_is_told() -> None:
    model = ScriptedModel(["three small words", Reply(text="x", usage=Usage(input_tokens=9))])
    assert (await model.complete(PROMPT)).usage == Usage(input_tokens=4, output_tokens=3, cost_micros=0)
    assert (await model.complete(PROMPT)).usage == Usage(input_tokens=9, cost_micros=None)


async def test_a_delay_is_slept_on_the_clock() -> None:
    clock = FakeClock(auto_advance=True)
    await ScriptedModel([Reply(text="late", delay=2.5)], clock=clock).complete(PROMPT)
    assert clock.slept == [2.5]


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ModelError, match="empty"):
        ScriptedModel([])


async def test_a_file_plays_through_the_catalogue(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [
            {"error": "rate_limit", "retry_after": 1, "message": "slow down"},
            {"text": "priced", "usage": {"input_tokens": 5, "output_tokens": 2, "cost_micros": 70}},
            {"text": "unpriced", "usage": None},
        ],
    )
    model = open_model(SCRIPTED, {SCRIPT_VARIABLE: str(path)}, FakeClock())
    with pytest.raises(ModelError, match="slow down") as caught:
        await model.complete(PROMPT)
    assert (caught.value.kind, caught.value.retry_after) == (ModelErrorKind.RATE_LIMIT, timedelta(seconds=1))
    priced = await model.complete(PROMPT)
    assert (priced.usage.cost_micros, priced.provider) == (70, "scripted")
    assert (await model.complete(PROMPT)).usage.cost_micros is None


@pytest.mark.parametrize(
    "script",
    [
        {"text": "not a list"},
        [{"text": "both", "error": "server"}],
        [{}],
        [{"error": "no_such_kind"}],
        [{"text": "x", "unknown": 1}],
        [{"text": "x", "delay": -1}],
        ["bare text"],
    ],
)
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, script: object) -> None:
    with pytest.raises(ModelError, match="not a script") as caught:
        read_script(written(tmp_path, script))
    assert caught.value.kind is ModelErrorKind.CONFIGURATION


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.json"):
        read_script(tmp_path / "absent.json")


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    path.write_bytes(b" " * (4 * 1024 * 1024 + 1))
    with pytest.raises(ModelError, match="at most"):
        read_script(path)
