"""The models that a server can reach, as prompts ask for them. Above: assembly. Below: catalogue, pool, retrying.

A provider's library takes seconds to load; it is loaded when the first of its models is opened, in a thread.
"""

from collections.abc import Mapping

import anyio
import structlog
from anyio.to_thread import run_sync

from fabro.clock import Clock
from fabro.ids import random_fraction
from fabro.models.catalogue import choose, is_local_available
from fabro.models.pool import ModelPool
from fabro.models.port import Model, ModelRef
from fabro.models.retrying import Retry, RetryingModel

_logger = structlog.get_logger(__name__)


class ModelAccess:
    """Implements `fabro.handlers.prompt.Models`: the models that an environment gives access to, each opened once
    and asked again when it fails in passing.
    """

    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        self._environment = environment
        self._clock = clock
        self._pool = ModelPool(environment, clock)
        self._opening = anyio.Lock()

    def choose(self, model: str | None, provider: str | None) -> ModelRef:
        """The model that these words mean; see the protocol."""
        return choose(model, provider, self._environment, local_available=is_local_available())

    async def open(self, ref: ModelRef) -> Model:
        """The model; in a thread, since a provider's library takes seconds to load."""
        async with self._opening:
            model = await run_sync(self._pool.model, ref)
        return RetryingModel(model, clock=self._clock, random=random_fraction, on_retry=_log_retry)

    async def aclose(self) -> None:
        """Close every model."""
        await self._pool.aclose()


async def _log_retry(retry: Retry) -> None:
    _logger.warning(
        "a model is asked again",
        attempt=retry.attempt,
        seconds=retry.delay.total_seconds(),
        error=retry.error.message,
    )
