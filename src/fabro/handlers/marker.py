"""Nodes that do nothing themselves: start and conditional. Above: assembly. Below: the handler contract."""

from fabro.engine.handler import Result, Settled, StageCall
from fabro.run.outcome import succeeded
from fabro.run.state import Inside

_DONE = Result(outcome=succeeded())


class MarkerHandler:
    """Succeeds at once. A conditional is one too: its edges are judged by the stage before it (design §4.1)."""

    def begin(self, call: StageCall) -> Settled:
        """Nothing to do."""
        del call
        return _DONE

    def resume(self, call: StageCall, inside: Inside) -> Settled:
        """Nothing was left undone."""
        del call, inside
        return _DONE
