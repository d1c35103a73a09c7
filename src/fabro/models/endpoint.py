"""Where a remote model is reached. Above: the catalogue and the provider's clients. Below: the port."""

from dataclasses import dataclass
from enum import StrEnum

from fabro.models.port import ModelRef

NO_KEY = "none"
"""What a client library is given that insists on a key, for a server that wants none."""


class Wire(StrEnum):
    """A protocol of requests and answers (reference/agent-and-mcp-client.md §3.1)."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    GEMINI_GENERATE = "gemini_generate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A model at an address.

    `base_url` ends where the provider's own client libraries end it (with `/v1` for OpenAI's protocols, without a
    version for the others). `key` is empty for a server that wants none.
    """

    ref: ModelRef
    wire: Wire
    base_url: str
    key: str
