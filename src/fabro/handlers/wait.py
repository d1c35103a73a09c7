"""Waits: a stage that lasts a given time and holds nothing meanwhile. Above: assembly. Below: the contract."""

from datetime import datetime

from fabro.engine.handler import Park, Result, Settled, StageCall
from fabro.errors import InvalidInput
from fabro.run.outcome import succeeded
from fabro.run.state import Inside


class WaitHandler:
    """Ends `duration` after its stage started, also over a restart. A dry run does not wait."""

    def begin(self, call: StageCall) -> Settled:
        """Park until the time has passed.

        Raises:
            InvalidInput: the node has no duration.
        """
        return self._until(call, call.now)

    def resume(self, call: StageCall, inside: Inside) -> Settled:
        """Park for what is left, or end."""
        return self._until(call, inside.started_at)

    def _until(self, call: StageCall, began: datetime) -> Settled:
        duration = call.node.duration("duration")
        if duration is None:
            raise InvalidInput(f"wait {call.node.id!r} has no duration")
        if call.is_dry_run or call.now >= began + duration:
            return Result(outcome=succeeded())
        return Park(until=began + duration)
