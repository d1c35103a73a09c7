"""Agents, as far as this version goes: simulated in dry runs. Above: assembly. Below: simulate."""

from fabro.engine.handler import Settled, StageCall
from fabro.errors import Conflict
from fabro.handlers.simulate import simulated_response
from fabro.run.state import Inside


class AgentHandler:
    """Agents in a dry run. A run that really needs one is refused when it is started."""

    def begin(self, call: StageCall) -> Settled:
        """Simulate.

        Raises:
            Conflict: the run is no dry run.
        """
        if not call.is_dry_run:
            raise Conflict(f"node {call.node.id!r} is an agent, which this version only simulates in dry runs")
        return simulated_response(call)

    def resume(self, call: StageCall, inside: Inside) -> Settled:
        """Simulate again."""
        del inside
        return self.begin(call)
