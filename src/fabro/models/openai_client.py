"""OpenAI's two protocols. Above: the catalogue and `local`, which import this when such a model is opened. Below:
pydantic-ai.

Responses is what OpenAI itself wants; chat completions is what every other server of this family speaks.
"""

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from fabro.models.endpoint import NO_KEY, Endpoint

_OPENAI_NAMES = ("gpt-", "o1", "o3", "o4", "chatgpt-")


def responses_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """A client for the Responses API at `endpoint`, whose requests go through `http`."""
    provider = OpenAIProvider(api_key=endpoint.key or NO_KEY, base_url=endpoint.base_url, http_client=http)
    return OpenAIResponsesModel(endpoint.ref.name, provider=provider)


def chat_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """A client for chat completions at `endpoint`, whose requests go through `http`.

    OpenAI's own models want their token limit under a new name that most other servers do not know. A stream that
    ends without a finish reason was cut off (reference/agent-and-mcp-client.md §3.2).
    """
    provider = OpenAICompatibleProvider(
        "openai-compatible", base_url=endpoint.base_url, api_key=endpoint.key or None, http_client=http
    )
    profile = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=endpoint.ref.name.startswith(_OPENAI_NAMES),
        openai_chat_streaming_requires_finish_reason=True,
    )
    return OpenAIChatModel(endpoint.ref.name, provider=provider, profile=profile)
