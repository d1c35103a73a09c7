"""Remote models, and every server that speaks OpenAI's protocol. Above: the catalogue and `local`. Below:
pydantic-ai and one HTTP client for each model.

Answers are read as streams though they are returned whole: a long answer then needs no long silence, and the read
timeout means a stalled provider and not a slow model.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import Model as Client
from pydantic_ai.models import ModelRequestParameters, create_async_httpx2_client
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings, ThinkingEffort
from pydantic_ai.usage import RequestUsage

from fabro.models.port import FinishReason, ModelErrorKind, ModelRef, Prompt, Response
from fabro.models.provider_errors import failure, model_error
from fabro.run.usage import Usage

CONNECT_SECONDS = 30.0
"""How long a connection may take (reference/agent-and-mcp-client.md §3.2)."""
READ_SECONDS = 300.0
"""How long a provider may be silent within an answer (the same)."""

_MICROS = Decimal(1_000_000)
_EFFORTS: dict[str, ThinkingEffort] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
_FINISHES = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}


def http_client(transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
    """An HTTP client with our timeouts; `transport` replaces TCP, for servers on a unix socket."""
    return create_async_httpx2_client(
        timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS), transport=transport
    )


class ProviderModel:
    """A `Model` over one of pydantic-ai's clients.

    Args:
        ref: how the catalogue names it.
        client: speaks the provider's protocol through `http`.
        http: closed by `aclose`.
        free: the calls cost nothing, so that their cost is 0 and not unknown.
    """

    def __init__(self, ref: ModelRef, *, client: Client, http: httpx2.AsyncClient, free: bool = False) -> None:
        self._ref = ref
        self._client = client
        self._http = http
        self._free = free

    @property
    def ref(self) -> ModelRef:
        """Which model this is."""
        return self._ref

    async def complete(self, prompt: Prompt) -> Response:
        """One streamed call, collected.

        Raises:
            ModelError: as the port says.
        """
        request = ModelRequest.user_text_prompt(prompt.text, instructions=prompt.system)
        parameters = _parameters(prompt, self._client)
        async with (
            self._errors(),
            model_request_stream(
                self._client, [request], model_settings=_settings(prompt), model_request_parameters=parameters
            ) as stream,
        ):
            async for _ in stream:
                pass
            answer = stream.get()
        return self._response(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @asynccontextmanager
    async def _errors(self) -> AsyncGenerator[None]:
        try:
            yield
        except (AgentRunError, UserError) as error:
            raise model_error(error, self._ref) from error

    def _response(self, answer: ModelResponse) -> Response:
        text = answer.text or ""
        if answer.finish_reason is None:
            raise failure(self._ref, ModelErrorKind.STREAM, detail="it ended without a finish reason")
        finish = _FINISHES.get(answer.finish_reason, FinishReason.OTHER)
        if finish is FinishReason.CONTENT_FILTER:
            raise failure(self._ref, ModelErrorKind.CONTENT_FILTER, detail=text)
        return Response(
            text=text,
            usage=_usage(answer.usage, cost_micros=0 if self._free else _cost_micros(answer)),
            provider=self._ref.provider,
            model=answer.model_name or self._ref.name,
            finish_reason=finish,
        )


def _settings(prompt: Prompt) -> ModelSettings:
    settings = ModelSettings(max_retries=0)
    if prompt.max_tokens is not None:
        settings["max_tokens"] = prompt.max_tokens
    if prompt.reasoning_effort in _EFFORTS:
        settings["thinking"] = _EFFORTS[prompt.reasoning_effort]
    return settings


def _parameters(prompt: Prompt, client: Client) -> ModelRequestParameters:
    if prompt.output_schema is None:
        return ModelRequestParameters()
    native = client.profile.get("supports_json_schema_output", False)
    return ModelRequestParameters(
        output_mode="native" if native else "prompted",
        output_object=OutputObjectDefinition(json_schema=dict(prompt.output_schema), name="answer"),
    )


def _usage(usage: RequestUsage, *, cost_micros: int | None) -> Usage:
    """Our words for pydantic-ai's; in both, `input_tokens` include what was read from or written to a cache."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_micros=cost_micros,
    )


def _cost_micros(answer: ModelResponse) -> int | None:
    """The list price of an answer; None when the model is not in the list or its usage was not told.

    Behind a gateway the list of the provider that made the model counts, so that budgets see a cost.
    """
    if not answer.model_name:
        return None
    try:
        price = answer.cost().total_price
    except (LookupError, ValueError):
        return None
    return int((price * _MICROS).to_integral_value())
