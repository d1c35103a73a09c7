"""A model that plays a script. Above: the catalogue (provider `scripted`) and tests. Below: the port.

A script is a list whose last entry repeats for ever. As a file it is JSON, one object for each entry:

    {"text": "an answer", "delay": 0.5, "usage": {"input_tokens": 10, "output_tokens": 3, "cost_micros": 25}}
    {"error": "rate_limit", "message": "slow down", "retry_after": 1}

`delay` (seconds before the entry plays) goes with both; all but `text` or `error` may be left out. Without `usage`
the tokens are the words of prompt and answer, at a cost of 0; `"usage": null` plays a provider that reports none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pydantic

from fabro.clock import Clock, SystemClock
from fabro.models.port import FinishReason, ModelError, ModelErrorKind, ModelRef, Prompt, Response
from fabro.run.usage import Usage

SCRIPT_VARIABLE = "FABRO_SCRIPTED_MODEL"
"""The environment variable that names the script's file."""
SCRIPTED = ModelRef(provider="scripted", name="script")
"""What a scripted model is called unless told otherwise."""
_MAX_SCRIPT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """One entry of a script: an answer's text, or the error to raise, after `delay` seconds.

    `usage` None counts words at no cost.
    """

    text: str = ""
    error: ModelError | None = None
    delay: float = 0.0
    usage: Usage | None = None


class ScriptedModel:
    """A `Model` that answers from a script and keeps what it was asked.

    Args:
        script: what to play, in order; a text is an answer, an error is raised. The last repeats.
        ref: how the model is called.
        clock: what delays are measured on.
    """

    def __init__(
        self,
        script: Sequence[str | ModelError | Reply],
        *,
        ref: ModelRef = SCRIPTED,
        clock: Clock | None = None,
    ) -> None:
        if not script:
            raise _configuration("the script of a scripted model is empty; wanted at least one entry")
        self._script = tuple(_reply(entry) for entry in script)
        self._ref = ref
        self._clock = clock or SystemClock()
        self.prompts: list[Prompt] = []

    @property
    def ref(self) -> ModelRef:
        """Which model this is."""
        return self._ref

    async def complete(self, prompt: Prompt) -> Response:
        """Play the next entry.

        Raises:
            ModelError: the entry says so.
        """
        reply = self._script[min(len(self.prompts), len(self._script) - 1)]
        self.prompts.append(prompt)
        await self._clock.sleep(reply.delay)
        if reply.error is not None:
            raise reply.error
        return Response(
            text=reply.text,
            usage=reply.usage or _word_usage(prompt, reply.text),
            provider=self._ref.provider,
            model=self._ref.name,
            finish_reason=FinishReason.STOP,
        )

    async def aclose(self) -> None:
        """Nothing is held."""


def read_script(path: Path) -> list[Reply]:
    """The script in the JSON file at `path`.

    Raises:
        ModelError: of kind `configuration`: the file can't be read, is over 4 MiB, or is not a script.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _MAX_SCRIPT_BYTES else b""
    except OSError as error:
        raise _configuration(f"{SCRIPT_VARIABLE} names {path}, which can't be read: {error.strerror}") from error
    if size > _MAX_SCRIPT_BYTES:
        raise _configuration(f"{SCRIPT_VARIABLE} names {path} with {size} bytes; at most {_MAX_SCRIPT_BYTES}")
    try:
        entries = _SCRIPT.validate_json(content)
    except pydantic.ValidationError as error:
        raise _configuration(f"{path} is not a script: {error}") from error
    return [_read(entry) for entry in entries]


class _UsageEntry(pydantic.BaseModel, extra="forbid"):
    input_tokens: int = pydantic.Field(default=0, ge=0)
    output_tokens: int = pydantic.Field(default=0, ge=0)
    cost_micros: int | None = pydantic.Field(default=None, ge=0)


class _Entry(pydantic.BaseModel, extra="forbid"):
    text: str | None = None
    error: ModelErrorKind | None = None
    message: str = "scripted failure"
    retry_after: float | None = pydantic.Field(default=None, ge=0)
    delay: float = pydantic.Field(default=0.0, ge=0)
    usage: _UsageEntry | None = None

    @pydantic.model_validator(mode="after")
    def _is_one_of_two(self) -> "_Entry":
        if (self.text is None) == (self.error is None):
            raise ValueError("an entry has either `text` or `error`")
        return self


_SCRIPT = pydantic.TypeAdapter(list[_Entry])


def _read(entry: _Entry) -> Reply:
    error = None
    if entry.error is not None:
        asked = None if entry.retry_after is None else timedelta(seconds=entry.retry_after)
        error = ModelError(f"{SCRIPTED}: {entry.message}", kind=entry.error, retry_after=asked)
    usage = None
    if "usage" in entry.model_fields_set:
        usage = Usage() if entry.usage is None else Usage(**entry.usage.model_dump())
    return Reply(text=entry.text or "", error=error, delay=entry.delay, usage=usage)


def _reply(entry: str | ModelError | Reply) -> Reply:
    if isinstance(entry, Reply):
        return entry
    return Reply(text=entry) if isinstance(entry, str) else Reply(error=entry)


def _word_usage(prompt: Prompt, text: str) -> Usage:
    asked = len(prompt.text.split()) + len((prompt.system or "").split())
    return Usage(input_tokens=asked, output_tokens=len(text.split()), cost_micros=0)


def _configuration(message: str) -> ModelError:
    return ModelError(message, kind=ModelErrorKind.CONFIGURATION)
