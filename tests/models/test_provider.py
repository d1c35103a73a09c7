"""Every wire against a twin: answers, usage, cost, settings, cancelling."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from inline_snapshot import snapshot

from fabro.json_value import JsonValue
from fabro.models.anthropic_client import anthropic_client
from fabro.models.catalogue import open_endpoint
from fabro.models.endpoint import Wire
from fabro.models.gemini_client import gemini_client
from fabro.models.openai_client import chat_client, responses_client
from fabro.models.port import FinishReason, Model, ModelError, ModelErrorKind, ModelRef, Prompt, Response
from fabro.models.provider import ProviderModel, http_client
from fabro.run.usage import Usage
from fabro.testing.provider_twin import Answer, Hang, ProviderTwin

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("loopback_requests")]
REFS = {
    Wire.ANTHROPIC_MESSAGES: ModelRef.parse("anthropic:claude-sonnet-5-5"),
    Wire.OPENAI_RESPONSES: ModelRef.parse("openai:gpt-6.1-sol"),
    Wire.OPENAI_CHAT: ModelRef.parse("openai:qwen3"),
    Wire.GEMINI_GENERATE: ModelRef.parse("gemini:gemini-3.8-flash"),
}
CLIENTS = {
    Wire.ANTHROPIC_MESSAGES: anthropic_client,
    Wire.OPENAI_RESPONSES: responses_client,
    Wire.OPENAI_CHAT: chat_client,
    Wire.GEMINI_GENERATE: gemini_client,
}
PRICED = [wire for wire in Wire if wire is not Wire.OPENAI_CHAT]
PROMPT = Prompt(text="Say hello")
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}


@asynccontextmanager
async def opened(twin: ProviderTwin, wire: Wire) -> AsyncGenerator[Model]:
    model = open_endpoint(twin.endpoint(wire, REFS[wire]))
    try:
        yield model
    finally:
        await model.aclose()


async def asked(wire: Wire, prompt: Prompt, answer: Answer) -> tuple[Response, dict[str, JsonValue]]:
    with ProviderTwin([answer]) as twin:
        async with opened(twin, wire) as model:
            response = await model.complete(prompt)
    assert len(twin.requests) == 1
    return response, dict(twin.requests[0].body)


@pytest.mark.parametrize("wire", list(Wire))
async def test_an_answer_comes_with_its_usage_and_its_maker(wire: Wire) -> None:
    answer = Answer(text="hello there", input_tokens=1000, output_tokens=100, cached_tokens=200)
    response, _ = await asked(wire, PROMPT, answer)
    assert response.text == "hello there"
    assert (response.provider, response.model) == (REFS[wire].provider, REFS[wire].name)
    assert response.finish_reason is FinishReason.STOP
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (1000, 100, 200)


@pytest.mark.parametrize("wire", PRICED)
async def test_a_known_price_gives_a_cost(wire: Wire) -> None:
    response, _ = await asked(wire, PROMPT, Answer(text="x", input_tokens=1_000_000, output_tokens=0))
    assert response.usage.cost_micros is not None
    assert 100_000 < response.usage.cost_micros < 20_000_000


async def test_an_unknown_price_is_none_and_not_zero() -> None:
    response, _ = await asked(Wire.OPENAI_CHAT, PROMPT, Answer(text="x", input_tokens=1000))
    assert (response.usage.input_tokens, response.usage.cost_micros) == (1000, None)


@pytest.mark.parametrize("wire", [Wire.OPENAI_RESPONSES, Wire.OPENAI_CHAT, Wire.GEMINI_GENERATE])
async def test_usage_that_was_not_told_leaves_the_cost_unknown(wire: Wire) -> None:
    response, _ = await asked(wire, PROMPT, Answer(text="x", reports_usage=False))
    assert response.usage == Usage(cost_micros=None)


async def test_what_runs_for_free_costs_zero() -> None:
    ref = REFS[Wire.OPENAI_CHAT]
    with ProviderTwin([Answer(text="x")]) as twin:
        http = http_client()
        client = chat_client(twin.endpoint(Wire.OPENAI_CHAT, ref), http)
        model = ProviderModel(ref, client=client, http=http, free=True)
        assert (await model.complete(PROMPT)).usage.cost_micros == 0
        await model.aclose()


@pytest.mark.parametrize("wire", list(Wire))
async def test_an_answer_at_its_token_limit_says_so(wire: Wire) -> None:
    response, _ = await asked(wire, PROMPT, Answer(text="once upon", finish="length"))
    assert (response.text, response.finish_reason) == ("once upon", FinishReason.LENGTH)


@pytest.mark.parametrize("wire", list(Wire))
async def test_system_text_limit_and_prompt_reach_the_provider(wire: Wire) -> None:
    _, body = await asked(wire, Prompt(text="Say hello", system="Be kind", max_tokens=77), Answer(text="x"))
    sent = str(body)
    assert "Say hello" in sent
    assert "Be kind" in sent
    assert "77" in sent


async def test_other_servers_get_the_token_limit_under_its_old_name() -> None:
    _, body = await asked(Wire.OPENAI_CHAT, Prompt(text="x", max_tokens=77), Answer(text="x"))
    assert body["max_tokens"] == 77
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_schema_is_handed_to_the_provider(wire: Wire) -> None:
    prompt = Prompt(text="a colour", output_schema=SCHEMA)
    response, body = await asked(wire, prompt, Answer(text='{"colour": "red"}'))
    assert response.text == '{"colour": "red"}'
    formats = {
        Wire.ANTHROPIC_MESSAGES: "output_config",
        Wire.OPENAI_RESPONSES: "text",
        Wire.OPENAI_CHAT: "response_format",
        Wire.GEMINI_GENERATE: "generationConfig",
    }
    assert "colour" in str(body[formats[wire]])


async def test_effort_is_translated_for_a_model_that_reasons() -> None:
    _, body = await asked(Wire.OPENAI_RESPONSES, Prompt(text="x", reasoning_effort="high"), Answer(text="x"))
    assert body["reasoning"] == snapshot({"effort": "high", "context": "all_turns"})
    _, body = await asked(Wire.ANTHROPIC_MESSAGES, Prompt(text="x", reasoning_effort="low"), Answer(text="x"))
    assert body["output_config"] == snapshot({"effort": "low"})


async def test_effort_that_nobody_knows_or_can_use_is_left_out() -> None:
    _, body = await asked(Wire.OPENAI_CHAT, Prompt(text="x", reasoning_effort="high"), Answer(text="x"))
    assert "reasoning_effort" not in body
    _, body = await asked(Wire.OPENAI_RESPONSES, Prompt(text="x", reasoning_effort="heroic"), Answer(text="x"))
    assert "heroic" not in str(body)


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_provider_that_says_nothing_times_out(wire: Wire) -> None:
    with ProviderTwin([Hang()]) as twin:
        http = httpx2.AsyncClient(timeout=0.3)
        client = CLIENTS[wire](twin.endpoint(wire, REFS[wire]), http)
        model = ProviderModel(REFS[wire], client=client, http=http)
        with pytest.raises(ModelError) as caught:
            await model.complete(PROMPT)
        await model.aclose()
    assert caught.value.kind is ModelErrorKind.TIMEOUT
    assert len(twin.requests) == 1


@pytest.mark.parametrize("wire", list(Wire))
async def test_cancelling_ends_a_call_at_once(wire: Wire) -> None:
    with ProviderTwin([Hang(), Answer(text="next")]) as twin:
        async with opened(twin, wire) as model:
            with anyio.move_on_after(0.2) as scope:
                await model.complete(PROMPT)
            assert scope.cancelled_caught
            assert (await model.complete(PROMPT)).text == "next"


async def test_calls_overlap() -> None:
    answers: list[str] = []
    with ProviderTwin([Answer(text="x")]) as twin:
        async with opened(twin, Wire.OPENAI_CHAT) as model:

            async def ask() -> None:
                answers.append((await model.complete(PROMPT)).text)

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(ask)
    assert answers == ["x"] * 8


async def test_the_timeouts_are_those_of_the_reference() -> None:
    async with http_client() as http:
        assert (http.timeout.connect, http.timeout.read) == (30.0, 300.0)
