"""The errors that callers see: one root, one leaf for each kind of answer, stable codes.

Above: every door (REST, MCP, CLI, pages) turns these into its own format. Below: nothing.
"""

from typing import ClassVar

from fabro.json_value import JsonObject


class FabroError(Exception):
    """Something that the caller should know, in words meant for them.

    Args:
        message: one or two sentences that name the field, what came and what was wanted.
        code: a stable snake_case word that programs may match on; each class has a default.
        hint: what to do next, as a sentence or a command; None where there is nothing to advise.
        details: further facts for programs, JSON all the way down.
    """

    default_code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.details: JsonObject = details or {}

    @property
    def advice(self) -> str:
        """The message with the hint behind it, where a single text has to hold both."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(FabroError):
    """What the caller sent breaks a rule; sending it again unchanged will fail again."""

    default_code = "invalid_request"


class TooLarge(InvalidInput):
    """What the caller sent is over a size limit, which the message names."""

    default_code = "too_large"


class NotFound(FabroError):
    """The thing that was named does not exist."""

    default_code = "not_found"


class Conflict(FabroError):
    """The request is well formed, but the state of things does not allow it now."""

    default_code = "conflict"


class Unauthorized(FabroError):
    """No valid credential came with the request."""

    default_code = "unauthorized"


class Forbidden(FabroError):
    """The credential is valid and does not reach this far."""

    default_code = "forbidden"


class Unavailable(FabroError):
    """Something outside did not answer or is not set up; trying again later may work."""

    default_code = "unavailable"


class StorageError(FabroError):
    """The storage folder can't be read or written; nothing that was asked for was done."""

    default_code = "storage_error"
