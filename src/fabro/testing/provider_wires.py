"""How providers put an answer on the wire, as their published APIs describe it. Above: `provider_twin`. Below:
nothing. Pure: each format makes the body of a whole answer, the events of a streamed one, and the body of an error.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from fabro.json_value import JsonObject

Event = tuple[str | None, JsonObject]
"""A server-sent event: its name, where the protocol has names, and its data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the provider answers.

    Tokens are counts as the provider bills them; `input_tokens` include `cached_tokens`. With `reports_usage=False`
    the answer says nothing about tokens (Anthropic's always does).
    """

    text: str
    input_tokens: int = 12
    output_tokens: int = 4
    cached_tokens: int = 0
    finish: Literal["stop", "length", "content_filter"] = "stop"
    reports_usage: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class WireFormat:
    """One protocol: how it writes a whole answer, a streamed one, and an error.

    `ends_with_done` tells whether a stream ends with a line that says so.
    """

    whole: Callable[[Answer, str], JsonObject]
    events: Callable[[Answer, str], Iterator[Event]]
    error: Callable[[int, str, str], JsonObject]
    ends_with_done: bool = False


def format_for(path: str) -> WireFormat | None:
    """The protocol of a request's path; None for a path that no protocol has."""
    if path.endswith("/chat/completions"):
        return WireFormat(whole=_chat, events=_chat_events, error=_openai_error, ends_with_done=True)
    if path.endswith("/responses"):
        return WireFormat(whole=_response, events=_response_events, error=_openai_error)
    if path.endswith("/v1/messages"):
        return WireFormat(whole=_message, events=_message_events, error=_anthropic_error)
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return WireFormat(whole=_gemini, events=_gemini_events, error=_gemini_error)
    return None


def encode_event(event: Event) -> bytes:
    """An event as bytes of a `text/event-stream`."""
    name, data = event
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _halves(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield from (part for part in (text[:middle], text[middle:]) if part)


# OpenAI, chat completions


def _chat_usage(answer: Answer) -> JsonObject | None:
    if not answer.reports_usage:
        return None
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
    }


def _chat(answer: Answer, model: str) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": answer.text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
        "usage": _chat_usage(answer),
    }


def _chat_events(answer: Answer, model: str) -> Iterator[Event]:
    head: JsonObject = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
    }
    for part in _halves(answer.text):
        delta: JsonObject = {"role": "assistant", "content": part}
        yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]}
    yield None, {**head, "choices": [], "usage": _chat_usage(answer)}


def _openai_error(_status: int, code: str, message: str) -> JsonObject:
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


# OpenAI, responses

_RESPONSE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _response(answer: Answer, model: str) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_tokens},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    is_whole = answer.finish == "stop"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": model,
        "status": "completed" if is_whole else "incomplete",
        "incomplete_details": None if is_whole else {"reason": _RESPONSE_REASONS[answer.finish]},
        "error": None,
        "output": [_response_item(answer.text, "completed")],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if answer.reports_usage else None,
    }


def _response_item(text: str | None, status: str) -> JsonObject:
    content: list[JsonObject] = [] if text is None else [_response_part(text)]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}


def _response_part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": []}


def _response_events(answer: Answer, model: str) -> Iterator[Event]:
    for number, event in enumerate(_unnumbered_response_events(answer, model)):
        yield str(event["type"]), {**event, "sequence_number": number}


def _unnumbered_response_events(answer: Answer, model: str) -> Iterator[JsonObject]:
    whole = _response(answer, model)
    begun: JsonObject = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    place: JsonObject = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.output_item.added", "output_index": 0, "item": _response_item(None, "in_progress")}
    yield {"type": "response.content_part.added", **place, "part": _response_part("")}
    for part in _halves(answer.text):
        yield {"type": "response.output_text.delta", **place, "delta": part, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": answer.text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": _response_part(answer.text)}
    yield {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": _response_item(answer.text, "completed"),
    }
    yield {"type": f"response.{whole['status']}", "response": whole}


# Anthropic, messages

_MESSAGE_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def _message_usage(answer: Answer) -> JsonObject:
    return {
        "input_tokens": answer.input_tokens - answer.cached_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": answer.output_tokens,
    }


def _message(answer: Answer, model: str) -> JsonObject:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": _MESSAGE_REASONS[answer.finish],
        "stop_sequence": None,
        "usage": _message_usage(answer),
    }


def _message_events(answer: Answer, model: str) -> Iterator[Event]:
    whole = _message(answer, model)
    usage = {**_message_usage(answer), "output_tokens": 0}
    begun: JsonObject = {**whole, "content": [], "stop_reason": None, "usage": usage}
    events: list[JsonObject] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    events += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
        for part in _halves(answer.text)
    ]
    stop: JsonObject = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": answer.output_tokens}},
        {"type": "message_stop"},
    ]
    for event in events:
        yield str(event["type"]), event


def _anthropic_error(_status: int, code: str, message: str) -> JsonObject:
    return {"type": "error", "error": {"type": code, "message": message}}


# Google, generateContent

_GEMINI_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def _gemini(answer: Answer, model: str) -> JsonObject:
    candidate: JsonObject = {
        "content": {"role": "model", "parts": [{"text": answer.text}]},
        "finishReason": _GEMINI_REASONS[answer.finish],
        "index": 0,
    }
    usage: JsonObject = {
        "promptTokenCount": answer.input_tokens,
        "candidatesTokenCount": answer.output_tokens,
        "cachedContentTokenCount": answer.cached_tokens,
        "totalTokenCount": answer.input_tokens + answer.output_tokens,
    }
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": "response-1",
        "usageMetadata": usage if answer.reports_usage else None,
    }


def _gemini_events(answer: Answer, model: str) -> Iterator[Event]:
    whole = _gemini(answer, model)
    parts = list(_halves(answer.text))
    for part in parts[:-1]:
        content: JsonObject = {"role": "model", "parts": [{"text": part}]}
        yield None, {**whole, "candidates": [{"content": content, "index": 0}], "usageMetadata": None}
    yield None, _gemini(replace(answer, text=parts[-1] if parts else ""), model)


def _gemini_error(status: int, code: str, message: str) -> JsonObject:
    return {"error": {"code": status, "message": message, "status": code}}
