"""A model that tries again. Above: handlers and the agent loop. Below: any other `Model`.

Source of the numbers: reference/engine.md §3 (inner retry layers) and reference/known-faults.md W-19: what can pass
by itself is repeated with a growing wait, what cannot is given back at once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from fabro.clock import Clock
from fabro.models.port import Model, ModelError, ModelRef, Prompt, Response

MAX_RETRIES = 3
"""Calls after the first."""
MAX_DELAY = timedelta(seconds=60)
"""The longest wait; a provider that asks for a longer one ends the attempts."""
_FIRST_SECONDS = 1.0
_FACTOR = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """A call failed and is made again after `delay`. `attempt` is the failed one, counted from 1."""

    attempt: int
    delay: timedelta
    error: ModelError


class RetryingModel:
    """A `Model` that repeats the retryable failures of `model`, three times at most.

    The nth wait is 1 s doubled n-1 times, times a factor of [0.5, 1.5), 60 s at most. A provider's Retry-After
    takes its place; one over 60 s is not waited for.

    Args:
        model: closed by `aclose`.
        clock: what the waits are measured on.
        random: a number of [0, 1) at each call.
        on_retry: awaited before each wait.
    """

    def __init__(
        self,
        model: Model,
        *,
        clock: Clock,
        random: Callable[[], float],
        on_retry: Callable[[Retry], Awaitable[None]],
    ) -> None:
        self._model = model
        self._clock = clock
        self._random = random
        self._on_retry = on_retry

    @property
    def ref(self) -> ModelRef:
        """The wrapped model's."""
        return self._model.ref

    async def complete(self, prompt: Prompt) -> Response:
        """The first answer that succeeds.

        Raises:
            ModelError: the last attempt's, or the first that is not worth repeating.
        """
        attempt = 1
        while True:
            try:
                return await self._model.complete(prompt)
            except ModelError as error:
                delay = self._delay(error, attempt)
                if delay is None:
                    raise
                retry = Retry(attempt=attempt, delay=delay, error=error)
            await self._on_retry(retry)
            await self._clock.sleep(retry.delay.total_seconds())
            attempt += 1

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._model.aclose()

    def _delay(self, error: ModelError, attempt: int) -> timedelta | None:
        """How long to wait after a failed attempt; None ends the attempts."""
        if not error.retryable or attempt > MAX_RETRIES:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= MAX_DELAY else None
        seconds = _FIRST_SECONDS * _FACTOR ** (attempt - 1) * (0.5 + self._random())
        return min(timedelta(seconds=seconds), MAX_DELAY)
