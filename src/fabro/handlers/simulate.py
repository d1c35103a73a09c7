"""Dry runs: what a stage says instead of doing it. Above: command, prompt, agent. Below: outcomes."""

from fabro.engine.handler import Result, StageCall
from fabro.run.outcome import Outcome, OutcomeStatus
from fabro.run.state import RESPONSE_PREVIEW


def simulated_response(call: StageCall) -> Result:
    """The result of a model's stage in a dry run: the same context keys, no call."""
    text = f"[Simulated] Response for stage: {call.node.id}"
    updates = {
        "last_stage": call.node.id,
        "last_response": text[:RESPONSE_PREVIEW],
        f"response.{call.node.id}": text,
    }
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
