"""Anthropic's messages API. Above: the catalogue, which imports this when such a model is opened. Below:
pydantic-ai.
"""

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from fabro.models.endpoint import NO_KEY, Endpoint


def anthropic_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """A client for `endpoint`, whose requests go through `http`."""
    provider = AnthropicProvider(api_key=endpoint.key or NO_KEY, base_url=endpoint.base_url, http_client=http)
    return AnthropicModel(endpoint.ref.name, provider=provider)
