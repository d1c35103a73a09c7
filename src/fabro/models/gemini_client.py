"""Google's generate API for Gemini. Above: the catalogue, which imports this when such a model is opened. Below:
pydantic-ai.
"""

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from fabro.models.endpoint import NO_KEY, Endpoint


def gemini_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """A client for `endpoint`, whose requests go through `http`."""
    provider = GoogleProvider(api_key=endpoint.key or NO_KEY, base_url=endpoint.base_url, http_client=http)
    return GoogleModel(endpoint.ref.name, provider=provider)
