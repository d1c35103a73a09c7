"""A run's status and the transitions that are allowed. Above: events, state, store. Below: nothing.

Source: reference/mcp-server.md §6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fabro.errors import Conflict


class StatusKind(StrEnum):
    """The kinds of status; `archived` is an overlay and not one of them."""

    SUBMITTED = "submitted"
    PENDING = "pending"
    RUNNABLE = "runnable"
    STARTING = "starting"
    RUNNING = "running"
    BLOCKED = "blocked"
    PAUSED = "paused"
    REMOVING = "removing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"

    @property
    def is_terminal(self) -> bool:
        """Whether a run of this kind does nothing more by itself."""
        return self in _TERMINAL


_TERMINAL = frozenset({StatusKind.SUCCEEDED, StatusKind.FAILED, StatusKind.DEAD})


class SuccessReason(StrEnum):
    """Why a run counts as succeeded."""

    COMPLETED = "completed"
    PARTIAL_SUCCESS = "partial_success"


class FailureReason(StrEnum):
    """Why a run failed."""

    WORKFLOW_ERROR = "workflow_error"
    PUBLISH_FAILED = "publish_failed"
    CANCELLED = "cancelled"
    APPROVAL_DENIED = "approval_denied"
    TERMINATED = "terminated"
    TRANSIENT_INFRA = "transient_infra"
    BUDGET_EXHAUSTED = "budget_exhausted"
    LAUNCH_FAILED = "launch_failed"
    BOOTSTRAP_FAILED = "bootstrap_failed"
    SANDBOX_INIT_FAILED = "sandbox_init_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """A status with its reason.

    `reason` holds, by kind: pending `approval_required`; blocked `human_input_required`; paused the kind that
    it paused, or None; succeeded a `SuccessReason`; failed a `FailureReason`; else None.
    """

    kind: StatusKind
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}({self.reason})" if self.reason and self.kind.is_terminal else str(self.kind)


class IllegalTransition(Conflict):
    """An event would lead from a status to one that can't follow it."""

    default_code = "illegal_transition"


_K = StatusKind
_FAILS = frozenset({_K.STARTING, _K.RUNNING, _K.BLOCKED, _K.PAUSED, _K.REMOVING})
_EARLY_FAILURES: Mapping[StatusKind, frozenset[str]] = {
    _K.SUBMITTED: frozenset({FailureReason.CANCELLED}),
    _K.PENDING: frozenset({FailureReason.CANCELLED, FailureReason.APPROVAL_DENIED}),
    _K.RUNNABLE: frozenset({FailureReason.CANCELLED, FailureReason.LAUNCH_FAILED}),
}
_NEXT: dict[StatusKind, frozenset[StatusKind]] = {
    _K.SUBMITTED: frozenset({_K.PENDING, _K.RUNNABLE}),
    _K.PENDING: frozenset({_K.RUNNABLE, _K.SUBMITTED}),
    _K.RUNNABLE: frozenset({_K.STARTING, _K.SUBMITTED}),
    _K.STARTING: frozenset({_K.RUNNING, _K.SUBMITTED}),
    _K.RUNNING: frozenset({_K.SUCCEEDED, _K.BLOCKED, _K.PAUSED, _K.SUBMITTED}),
    _K.BLOCKED: frozenset({_K.RUNNING, _K.PAUSED, _K.SUBMITTED}),
    _K.PAUSED: frozenset({_K.RUNNING, _K.PAUSED, _K.BLOCKED, _K.SUBMITTED}),
    _K.REMOVING: frozenset({_K.SUBMITTED}),
    _K.SUCCEEDED: frozenset(),
    _K.FAILED: frozenset({_K.SUBMITTED}),
    _K.DEAD: frozenset(),
}


def check_transition(before: Status, after: Status) -> None:
    """Let a change of status pass or refuse it.

    A run that has not begun to execute fails only when it is cancelled, or, being pending, denied, or, being
    runnable, can't be launched.

    Raises:
        IllegalTransition: `after` can't follow `before`.
    """
    if after.kind is StatusKind.DEAD or after.kind in _NEXT[before.kind]:
        return
    if after.kind is StatusKind.REMOVING and before.kind is not StatusKind.REMOVING:
        return
    if after.kind is StatusKind.FAILED:
        if before.kind in _FAILS and after.reason != FailureReason.APPROVAL_DENIED:
            return
        if after.reason in _EARLY_FAILURES.get(before.kind, frozenset()):
            return
    raise IllegalTransition(f"invalid status transition: {before} -> {after}")
