"""What a provider's failure is in our words. Above: the provider. Below: pydantic-ai's exceptions and the port.

Source of the rules: reference/agent-and-mcp-client.md §3.3. The provider's own error code comes first (an exhausted
quota arrives as a 429), then what the message says, then the HTTP status.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)

from fabro.models.port import ModelError, ModelErrorKind, ModelRef

_MAX_MESSAGE = 2_000

_CODES = {
    "content_filter": ModelErrorKind.CONTENT_FILTER,
    "content_policy_violation": ModelErrorKind.CONTENT_FILTER,
    "exceed_context_size_error": ModelErrorKind.CONTEXT_LENGTH,
}
_STATUSES = {
    401: ModelErrorKind.AUTHENTICATION,
    402: ModelErrorKind.QUOTA_EXCEEDED,
    403: ModelErrorKind.ACCESS_DENIED,
    404: ModelErrorKind.NOT_FOUND,
    408: ModelErrorKind.TIMEOUT,
    412: ModelErrorKind.ACCESS_DENIED,
    413: ModelErrorKind.CONTEXT_LENGTH,
    429: ModelErrorKind.RATE_LIMIT,
}
_CATEGORIES: tuple[tuple[type[ModelAPIError], ModelErrorKind], ...] = (
    (ModelQuotaExceededError, ModelErrorKind.QUOTA_EXCEEDED),
    (ModelContextWindowExceededError, ModelErrorKind.CONTEXT_LENGTH),
    (ModelRateLimitError, ModelErrorKind.RATE_LIMIT),
    (ModelUnavailableError, ModelErrorKind.SERVER),
    (ModelServerError, ModelErrorKind.SERVER),
    (ModelNotFoundError, ModelErrorKind.NOT_FOUND),
)
_SAYINGS = {
    ModelErrorKind.AUTHENTICATION: "the key was refused",
    ModelErrorKind.ACCESS_DENIED: "the key may not use this model",
    ModelErrorKind.NOT_FOUND: "the provider does not know this model",
    ModelErrorKind.INVALID_REQUEST: "the provider refused the request",
    ModelErrorKind.RATE_LIMIT: "the provider's rate limit is reached",
    ModelErrorKind.SERVER: "the provider failed",
    ModelErrorKind.CONTENT_FILTER: "the provider's filter refused the content",
    ModelErrorKind.CONTEXT_LENGTH: "the prompt is too long for this model",
    ModelErrorKind.QUOTA_EXCEEDED: "the account's quota is used up",
    ModelErrorKind.TIMEOUT: "the provider did not answer in time",
    ModelErrorKind.NETWORK: "the provider can't be reached",
    ModelErrorKind.STREAM: "the answer broke off or can't be read",
    ModelErrorKind.CONFIGURATION: "the model can't be used as configured",
}
_RESTART = "A running server keeps the environment that it was started with: `fabro server restart`."
_HINTS = {
    ModelErrorKind.AUTHENTICATION: f"Check the provider's key. {_RESTART}",
    ModelErrorKind.ACCESS_DENIED: "Ask the provider's console for access, or choose another model.",
    ModelErrorKind.NOT_FOUND: "Check the model's name and the provider's base URL.",
    ModelErrorKind.QUOTA_EXCEEDED: "Top up or raise the limit of the provider's account.",
    ModelErrorKind.CONTEXT_LENGTH: "Shorten the prompt, or choose a model with a larger context.",
}


def model_error(error: AgentRunError | UserError, ref: ModelRef) -> ModelError:
    """The `ModelError` for anything that pydantic-ai raises about one request to `ref`."""
    kind = _kind(error)
    asked = error.retry_after if isinstance(error, ModelAPIError) else None
    return failure(
        ref,
        kind,
        detail=_said(error),
        status=error.status_code if isinstance(error, ModelHTTPError) else None,
        retry_after=None if asked is None else timedelta(seconds=asked),
    )


def failure(
    ref: ModelRef,
    kind: ModelErrorKind,
    *,
    detail: str,
    status: int | None = None,
    retry_after: timedelta | None = None,
) -> ModelError:
    """A `ModelError` in the usual words: the model, what its kind means, the status, what the provider said."""
    stated = "" if status is None else f" (HTTP {status})"
    said = f": {detail[:_MAX_MESSAGE]}" if detail else ""
    return ModelError(
        f"{ref}: {_SAYINGS[kind]}{stated}{said}", kind=kind, retry_after=retry_after, hint=_HINTS.get(kind)
    )


def _kind(error: AgentRunError | UserError) -> ModelErrorKind:
    if isinstance(error, UserError):
        return ModelErrorKind.CONFIGURATION
    if isinstance(error, ContentFilterError):
        return ModelErrorKind.CONTENT_FILTER
    if isinstance(error, ModelTimeoutError):
        return ModelErrorKind.TIMEOUT
    if isinstance(error, ModelConnectionError):
        return ModelErrorKind.STREAM if error.phase == "read" else ModelErrorKind.NETWORK
    # What is left without a category is an answer that can't be read.
    return _answered_kind(error) if isinstance(error, ModelAPIError) else ModelErrorKind.STREAM


def _answered_kind(error: ModelAPIError) -> ModelErrorKind:
    for word in (error.provider_error_code, error.provider_error_type):
        if word in _CODES:
            return _CODES[word]
    for category, kind in _CATEGORIES:
        if isinstance(error, category):
            return kind
    if isinstance(error, ModelHTTPError):
        return _status_kind(error.status_code, authentication=isinstance(error, ModelAuthenticationError))
    return ModelErrorKind.INVALID_REQUEST if isinstance(error, ModelRequestRejectedError) else ModelErrorKind.STREAM


def _status_kind(status: int, *, authentication: bool) -> ModelErrorKind:
    if status in _STATUSES:
        return _STATUSES[status]
    if authentication:  # Gemini answers an invalid key with 400
        return ModelErrorKind.AUTHENTICATION
    return ModelErrorKind.SERVER if status >= 500 else ModelErrorKind.INVALID_REQUEST


def _said(error: AgentRunError | UserError) -> str:
    """The provider's own sentence where its body holds one; else the network's, else the library's."""
    if isinstance(error, ModelConnectionError):
        return str(_root(error)) or error.message
    body = error.body if isinstance(error, ModelAPIError) else None
    for _ in range(2):
        if not isinstance(body, Mapping):
            break
        fields = cast("Mapping[str, object]", body)
        message = fields.get("message")
        if isinstance(message, str):
            return message
        body = fields.get("error")
    return body if isinstance(body, str) else error.message


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
