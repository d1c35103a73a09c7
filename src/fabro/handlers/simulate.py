"""Dry runs: what a stage says instead of doing it. Above: command, prompt, agent. Below: outcomes."""

from fabro.engine.handler import Plan, Result, StageCall
from fabro.errors import Conflict
from fabro.run.outcome import Outcome, OutcomeStatus
from fabro.run.state import RESPONSE_PREVIEW, Inside


def simulated_response(call: StageCall) -> Result:
    """The result of a model's stage in a dry run: the same context keys, no call."""
    text = f"[Simulated] Response for stage: {call.node.id}"
    updates = {"last_response": text[:RESPONSE_PREVIEW], f"response.{call.node.id}": text}
    return Result(
        outcome=Outcome(status=OutcomeStatus.SUCCEEDED, context_updates=updates, notes="simulated by a dry run")
    )


def simulated_command() -> Result:
    """The result of a command in a dry run: success with empty output."""
    return Result(
        outcome=Outcome(
            status=OutcomeStatus.SUCCEEDED, context_updates={"command.output": ""}, notes="simulated by a dry run"
        )
    )


class AgentHandler:
    """Agents in a dry run. A run that really needs one is refused when it is started."""

    def begin(self, call: StageCall) -> Plan:
        """Simulate.

        Raises:
            Conflict: the run is no dry run.
        """
        if not call.is_dry_run:
            raise Conflict(f"node {call.node.id!r} is an agent, which this version only simulates in dry runs")
        return simulated_response(call)

    def resume(self, call: StageCall, inside: Inside) -> Plan:
        """Simulate again."""
        del inside
        return self.begin(call)
