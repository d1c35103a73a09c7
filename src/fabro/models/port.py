"""What a language model is to the rest of the system.

Above: handlers and the agent loop. Below: the words for usage and failure. The implementations stand beside this
module and do not know each other: `provider` (remote and OpenAI-compatible), `local`, `scripted`; `retrying`
wraps any of them.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from fabro.errors import FabroError, InvalidInput
from fabro.json_value import JsonObject
from fabro.run.outcome import FailureCategory
from fabro.run.usage import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRef:
    """A model by name: `provider` is an id of the catalogue, `name` what that provider calls the model."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        """The inverse of `str`; only the first colon separates, so that names may hold colons.

        Raises:
            InvalidInput: either side of the colon is missing.
        """
        provider, colon, name = text.strip().partition(":")
        if not (colon and provider and name):
            raise InvalidInput(f"model is {text!r}; wanted `provider:name`, such as `anthropic:claude-sonnet-4-5`")
        return cls(provider=provider, name=name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One request without history.

    `max_tokens` bounds the answer; None leaves it to the provider. `reasoning_effort` is one of minimal, low,
    medium, high, xhigh and max (reference/agent-and-mcp-client.md §3.4); a model without that level takes its
    nearest, one without reasoning ignores it. `output_schema` is a JSON Schema of an object; the answer's text is
    then JSON that the model was made to shape by it, not yet checked against it.
    """

    text: str
    system: str | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    output_schema: JsonObject | None = None


class FinishReason(StrEnum):
    """Why the model stopped (reference/agent-and-mcp-client.md §3.2)."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """A complete answer. `provider` is the catalogue's id; `model` is the name that the provider reports."""

    text: str
    usage: Usage
    provider: str
    model: str
    finish_reason: FinishReason


class ModelErrorKind(StrEnum):
    """What went wrong, in the words of reference/agent-and-mcp-client.md §3.3."""

    AUTHENTICATION = "authentication"
    ACCESS_DENIED = "access_denied"
    NOT_FOUND = "not_found"
    INVALID_REQUEST = "invalid_request"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    CONTENT_FILTER = "content_filter"
    CONTEXT_LENGTH = "context_length"
    QUOTA_EXCEEDED = "quota_exceeded"
    TIMEOUT = "timeout"
    NETWORK = "network"
    STREAM = "stream"
    CONFIGURATION = "configuration"


_TRANSIENT = frozenset(
    {
        ModelErrorKind.RATE_LIMIT,
        ModelErrorKind.SERVER,
        ModelErrorKind.TIMEOUT,
        ModelErrorKind.NETWORK,
        ModelErrorKind.STREAM,
    }
)
_BUDGET = frozenset({ModelErrorKind.CONTEXT_LENGTH, ModelErrorKind.QUOTA_EXCEEDED})


class ModelError(FabroError):
    """A model call failed. Its code is `model_` and the kind; `details` holds the kind alone.

    Args:
        message: names the model, and what the provider said.
        kind: decides everything below.
        retry_after: how long the provider asked to wait, when it did.
        hint: what the user can do, as for every `FabroError`.
    """

    def __init__(
        self, message: str, *, kind: ModelErrorKind, retry_after: timedelta | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=f"model_{kind}", hint=hint, details={"kind": kind.value})
        self.kind = kind
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed when made again."""
        return self.kind in _TRANSIENT

    @property
    def category(self) -> FailureCategory:
        """The engine's word for it (reference/engine.md §3)."""
        if self.kind in _TRANSIENT:
            return FailureCategory.TRANSIENT_INFRA
        return FailureCategory.BUDGET_EXHAUSTED if self.kind in _BUDGET else FailureCategory.DETERMINISTIC


class Model(Protocol):
    """The contract of every language model.

    - `complete` makes one call and returns the whole answer, or raises `ModelError` and nothing else; what a
      provider's library raises never comes through. It makes exactly one attempt: repeating is `RetryingModel`'s.
    - Cancelling the calling task ends the call at once; nothing is left running for it.
    - Calls may overlap. Each is independent of the others.
    - `Usage.cost_micros` is None when the price is not known, and 0 only where the call was really free.
    - An empty text is an answer; a refusal by the provider's filter is a `ModelError` of kind `content_filter`.
    - `aclose` frees connections and processes; it may be called twice, and no call follows it.
    """

    @property
    def ref(self) -> ModelRef:
        """Which model this is."""
        ...

    async def complete(self, prompt: Prompt) -> Response:
        """The model's answer to one prompt.

        Raises:
            ModelError: the call failed; its kind says how and whether trying again makes sense.
        """
        ...

    async def aclose(self) -> None:
        """Free what the model holds."""
        ...
