"""The official client libraries take the twin for the real thing, whole and streamed."""

import anthropic
import openai
import pytest

from fabro.testing.provider_twin import Answer, CutOff, Failure, Garbage, Hang, ProviderTwin

pytestmark = pytest.mark.anyio
HELLO = Answer(text="hello there", input_tokens=30, output_tokens=3, cached_tokens=10)


def gpt(twin: ProviderTwin, timeout: float = 10.0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=twin.openai_url, api_key="key", max_retries=0, timeout=timeout)


def claude(twin: ProviderTwin) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=twin.url, api_key="key", max_retries=0)


async def test_chat_completions() -> None:
    with ProviderTwin([HELLO]) as twin:
        async with gpt(twin) as client:
            whole = await client.chat.completions.create(
                model="gpt-x", messages=[{"role": "user", "content": "hi"}]
            )
            chunks = [
                chunk
                async for chunk in await client.chat.completions.create(
                    model="gpt-x", messages=[{"role": "user", "content": "hi"}], stream=True
                )
            ]
    assert whole.choices[0].message.content == "hello there"
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (30, 3)
    texts = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(texts) == "hello there"
    assert chunks[-1].usage == whole.usage


async def test_responses() -> None:
    with ProviderTwin([HELLO]) as twin:
        async with gpt(twin) as client:
            whole = await client.responses.create(model="gpt-x", input="hi")
            events = [
                event async for event in await client.responses.create(model="gpt-x", input="hi", stream=True)
            ]
    assert (whole.output_text, whole.model, whole.status) == ("hello there", "gpt-x", "completed")
    assert whole.usage is not None
    assert (whole.usage.input_tokens, whole.usage.input_tokens_details.cached_tokens) == (30, 10)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "hello there"


async def test_messages() -> None:
    with ProviderTwin([HELLO]) as twin:
        async with claude(twin) as client:
            whole = await client.messages.create(
                model="claude-x", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
            async with client.messages.stream(
                model="claude-x", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            ) as stream:
                streamed = await stream.get_final_message()
    for message in (whole, streamed):
        assert [block.text for block in message.content if block.type == "text"] == ["hello there"]
        assert message.stop_reason == "end_turn"
        usage = message.usage
        assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (20, 10, 3)


async def test_errors_come_with_their_status_and_wait() -> None:
    with ProviderTwin([Failure(status=429, code="rate_limit_error", message="slow down", retry_after=3)]) as twin:
        async with gpt(twin) as client, claude(twin) as other:
            with pytest.raises(openai.RateLimitError, match="slow down") as by_openai:
                await client.responses.create(model="gpt-x", input="hi")
            with pytest.raises(anthropic.RateLimitError, match="slow down") as by_anthropic:
                await other.messages.create(
                    model="claude-x", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
                )
    assert by_openai.value.code == "rate_limit_error"
    assert by_openai.value.response.headers["retry-after"] == "3"
    assert by_anthropic.value.response.headers["retry-after"] == "3"


async def test_the_script_goes_on_over_all_protocols_and_its_last_entry_repeats() -> None:
    with ProviderTwin([Answer(text="one"), Answer(text="two")]) as twin:
        async with gpt(twin) as client:
            texts = [(await client.responses.create(model="m", input="hi")).output_text for _ in range(3)]
    assert texts == ["one", "two", "two"]
    assert [request.path for request in twin.requests] == ["/v1/responses"] * 3
    assert twin.requests[0].body["input"] == "hi"
    assert twin.requests[0].headers["authorization"] == "Bearer key"


async def test_a_hang_holds_the_call_and_not_the_twin() -> None:
    with ProviderTwin([Hang(), Answer(text="next")]) as twin:
        async with gpt(twin, timeout=0.2) as client:
            with pytest.raises(openai.APITimeoutError):
                await client.responses.create(model="m", input="hi")
        async with gpt(twin) as client:
            assert (await client.responses.create(model="m", input="hi")).output_text == "next"


async def test_garbage_and_broken_streams_are_what_they_say() -> None:
    with ProviderTwin([Garbage(body="nonsense"), CutOff(abrupt=True)]) as twin:
        async with gpt(twin) as client:
            response = await client.responses.with_raw_response.create(model="m", input="hi")
            assert response.http_response.text == "nonsense"
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            with pytest.raises(openai.APIConnectionError):
                _ = [chunk async for chunk in stream]


async def test_an_unknown_path_is_not_found() -> None:
    with ProviderTwin([HELLO]) as twin:
        async with openai.AsyncOpenAI(base_url=twin.url + "/nowhere", api_key="key", max_retries=0) as client:
            with pytest.raises(openai.NotFoundError):
                await client.post("/else", cast_to=object, body={})
    assert twin.requests == []
