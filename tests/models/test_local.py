"""The local model: fitting a prompt into its window, and, slowly, the real thing."""

import json
from pathlib import Path

import pytest

from fabro.clock import SystemClock
from fabro.json_value import JsonValue
from fabro.models.catalogue import LOCAL, open_model
from fabro.models.local import LocalModel, cut_middle, open_local, weights_path
from fabro.models.local_server import LocalServer
from fabro.models.port import ModelError, ModelErrorKind, Prompt

pytestmark = pytest.mark.anyio
COLOUR: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def test_the_weights_are_found_without_importing_their_package() -> None:
    path = weights_path()
    assert path is not None
    assert path.stat().st_size > 50_000_000


@pytest.mark.parametrize("length", [80, 81, 200, 999])
def test_a_cut_keeps_both_ends_and_says_that_it_cut(length: int) -> None:
    text = "".join(f"{number:04d}" for number in range(250))
    cut = cut_middle(text, length)
    assert len(cut) <= length
    assert cut.startswith("0000"[: max(1, (length - 75) // 2)])
    assert "left out" in cut


def test_what_fits_is_not_cut() -> None:
    assert cut_middle("short", 5) == "short"


def test_no_room_leaves_the_note_alone() -> None:
    assert cut_middle("x" * 100, 0).strip().startswith("[")


async def test_weights_that_do_not_load_are_a_server_error_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not weights")
    model = LocalModel(LOCAL, LocalServer(broken))
    with pytest.raises(ModelError, match="did not start") as caught:
        await model.complete(Prompt(text="hello"))
    assert caught.value.kind is ModelErrorKind.SERVER
    await model.aclose()


async def test_closing_what_never_started_is_nothing() -> None:
    model = open_local(LOCAL)
    await model.aclose()
    await model.aclose()


@pytest.mark.slow
@pytest.mark.usefixtures("loopback_requests")
async def test_it_really_answers() -> None:
    model = open_model(LOCAL, {}, SystemClock())
    try:
        answer = await model.complete(Prompt(text="What is the capital of France?", max_tokens=40))
        assert answer.text.strip()
        assert (answer.provider, answer.model, answer.usage.cost_micros) == ("local", "smollm2-135m", 0)
        assert 0 < answer.usage.output_tokens <= 40

        shaped = await model.complete(Prompt(text="Name a colour.", output_schema=COLOUR))
        assert json.loads(shaped.text)["colour"] in ("red", "blue")

        bounded = await model.complete(Prompt(text="Count for ever.", max_tokens=5))
        assert bounded.usage.output_tokens <= 5

    finally:
        await model.aclose()


@pytest.mark.slow
@pytest.mark.usefixtures("loopback_requests")
async def test_a_prompt_over_the_window_is_cut_until_it_fits() -> None:
    weights = weights_path()
    assert weights is not None
    model = LocalModel(LOCAL, LocalServer(weights, context_tokens=512))
    try:
        answer = await model.complete(Prompt(text="世界 word " * 20_000, system="Be brief.", max_tokens=1))
        assert 200 < answer.usage.input_tokens < 512
        with pytest.raises(ModelError) as caught:
            await model.complete(Prompt(text="x", system="word " * 1_000))
        assert caught.value.kind is ModelErrorKind.CONTEXT_LENGTH
    finally:
        await model.aclose()
