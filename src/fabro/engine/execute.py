"""An effect while it runs: its timeout, its cancelling, its faults. Above: the runner. Below: the run's log."""

from datetime import timedelta
from functools import partial

import anyio
import structlog

from fabro.clock import Clock
from fabro.engine.handler import Effect, Result, StageCall
from fabro.engine.log import RunLog
from fabro.errors import FabroError, StorageError
from fabro.race import race
from fabro.run.outcome import FailureCategory, failed
from fabro.store.commits import Watch

STOP_GRACE_SECONDS = 15.0
"""How long an effect that was asked to stop may take to say how far it got."""
READ_AGAIN_SECONDS = 1.0
DEFAULT_TIMEOUT = timedelta(minutes=30)
"""How long an effect may last whose node does not say."""
_CANCELLED = Result(outcome=failed("cancelled", category=FailureCategory.CANCELED))

_logger = structlog.get_logger(__name__)


class Execution:
    """Runs one effect and listens meanwhile for a request to cancel the run."""

    def __init__(self, clock: Clock, log: RunLog, news: Watch) -> None:
        self._clock = clock
        self._log = log
        self._news = news
        self._stop = anyio.Event()

    async def run(self, effect: Effect, call: StageCall) -> tuple[Result, int]:
        """The effect's result, whatever happens in it, and its length in milliseconds."""
        began = self._clock.monotonic()
        result = await race(lambda: self._in_time(effect, call), self._listen)
        return result or _CANCELLED, int((self._clock.monotonic() - began) * 1000)

    async def _in_time(self, effect: Effect, call: StageCall) -> Result:
        if effect.owns_timeout:
            return await self._guarded(effect, call)
        seconds = (call.node.duration("timeout") or DEFAULT_TIMEOUT).total_seconds()
        result = await race(lambda: self._guarded(effect, call), partial(self._clock.sleep, seconds))
        return result or _timed_out(seconds)

    async def _guarded(self, effect: Effect, call: StageCall) -> Result:
        try:
            return await effect.run(self._stop)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises fails its stage
            return fault(error, call)

    async def _listen(self) -> None:
        """Hear of a cancel, ask the effect to stop, and return when it has had time enough to do so."""
        while not self._stop.is_set():
            await self._news.changed()
            await self._catch_up()
            if self._log.state.cancel_requested:
                self._stop.set()
        await self._clock.sleep(STOP_GRACE_SECONDS)

    async def _catch_up(self) -> None:
        while True:
            try:
                await self._log.catch_up()
            except StorageError as error:
                _logger.warning("the log can't be read, trying again", error=error.message)
                await self._clock.sleep(READ_AGAIN_SECONDS)
            else:
                return


def fault(error: Exception, call: StageCall) -> Result:
    """What a handler's error makes of its stage: one meant for callers is told, any other is logged as a fault."""
    if isinstance(error, FabroError):
        return Result(outcome=failed(error.advice))
    _logger.error("a handler failed", stage=call.stage_id, run_id=call.state.run_id, exc_info=error)
    return Result(outcome=failed(f"internal error in {call.node.type.value}: {error!r}"))


def _timed_out(seconds: float) -> Result:
    return Result(outcome=failed(f"timed out after {seconds:g} s", category=FailureCategory.TRANSIENT_INFRA))
