"""How a stage ended. Above: events, routing, handlers. Below: nothing.

Source of the words: reference/engine.md §3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fabro.json_value import JsonValue


class OutcomeStatus(StrEnum):
    """The four ends of a stage."""

    SUCCEEDED = "succeeded"
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class FailureCategory(StrEnum):
    """What kind of thing went wrong; it decides about retries and the circuit breaker."""

    TRANSIENT_INFRA = "transient_infra"
    DETERMINISTIC = "deterministic"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CANCELED = "canceled"
    STRUCTURAL = "structural"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a stage failed: one message for people, a category for the engine, the chain of causes."""

    message: str
    category: FailureCategory = FailureCategory.DETERMINISTIC
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The end of a stage.

    `context_updates` holds only what the stage adds to the run's context beyond what its own events already
    say (a command's output and a model's response are folded from their events).
    """

    status: OutcomeStatus
    preferred_label: str | None = None
    suggested_next: tuple[str, ...] = ()
    context_updates: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    notes: str | None = None
    failure: Failure | None = None

    @property
    def is_successful(self) -> bool:
        """Whether a goal gate counts this outcome as passed."""
        return self.status in (OutcomeStatus.SUCCEEDED, OutcomeStatus.PARTIALLY_SUCCEEDED)


def succeeded(notes: str | None = None) -> Outcome:
    """A plain success."""
    return Outcome(status=OutcomeStatus.SUCCEEDED, notes=notes)


def failed(
    message: str, *, category: FailureCategory = FailureCategory.DETERMINISTIC, causes: tuple[str, ...] = ()
) -> Outcome:
    """A failure with its reason."""
    return Outcome(status=OutcomeStatus.FAILED, failure=Failure(message=message, category=category, causes=causes))
