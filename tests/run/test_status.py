"""The table of transitions (reference/mcp-server.md §6), whole."""

from itertools import product

import pytest

from fabro.run.status import FailureReason, IllegalTransition, Status, StatusKind, check_transition

K = StatusKind
FOLLOWS = {
    K.SUBMITTED: {K.PENDING, K.RUNNABLE},
    K.PENDING: {K.RUNNABLE, K.SUBMITTED},
    K.RUNNABLE: {K.STARTING, K.SUBMITTED},
    K.STARTING: {K.RUNNING, K.SUBMITTED},
    K.RUNNING: {K.SUCCEEDED, K.BLOCKED, K.PAUSED, K.SUBMITTED},
    K.BLOCKED: {K.RUNNING, K.PAUSED, K.SUBMITTED},
    K.PAUSED: {K.RUNNING, K.PAUSED, K.BLOCKED, K.SUBMITTED},
    K.REMOVING: {K.SUBMITTED},
    K.SUCCEEDED: set[K](),
    K.FAILED: {K.SUBMITTED},
    K.DEAD: set[K](),
}
EXECUTING = {K.STARTING, K.RUNNING, K.BLOCKED, K.PAUSED, K.REMOVING}
EARLY = {K.SUBMITTED, K.PENDING, K.RUNNABLE}


def is_allowed(before: StatusKind, after: Status) -> bool:
    try:
        check_transition(Status(kind=before), after)
    except IllegalTransition:
        return False
    return True


@pytest.mark.parametrize(("before", "after"), list(product(K, [kind for kind in K if kind is not K.FAILED])))
def test_every_pair_but_failures(before: StatusKind, after: StatusKind) -> None:
    always = after is K.DEAD or (after is K.REMOVING and before is not K.REMOVING)
    assert is_allowed(before, Status(kind=after)) is (always or after in FOLLOWS[before])


@pytest.mark.parametrize(("before", "reason"), list(product(K, FailureReason)))
def test_failures(before: StatusKind, reason: FailureReason) -> None:
    allowed = is_allowed(before, Status(kind=K.FAILED, reason=reason))
    if before in EXECUTING:
        assert allowed is (reason is not FailureReason.APPROVAL_DENIED)
    elif before not in EARLY:
        assert not allowed
    elif reason is FailureReason.CANCELLED:
        assert allowed
    elif reason not in (FailureReason.APPROVAL_DENIED, FailureReason.LAUNCH_FAILED):
        assert not allowed


def test_denial_and_launch_have_their_moment() -> None:
    assert is_allowed(K.PENDING, Status(kind=K.FAILED, reason=FailureReason.APPROVAL_DENIED))
    assert is_allowed(K.RUNNABLE, Status(kind=K.FAILED, reason=FailureReason.LAUNCH_FAILED))


@pytest.mark.parametrize("kind", K)
def test_three_kinds_are_terminal(kind: StatusKind) -> None:
    assert kind.is_terminal is (kind in {K.SUCCEEDED, K.FAILED, K.DEAD})


def test_a_refusal_names_both() -> None:
    with pytest.raises(IllegalTransition, match=r"^invalid status transition: submitted -> starting$"):
        check_transition(Status(kind=K.SUBMITTED), Status(kind=K.STARTING))


def test_a_status_shows_the_reason_of_its_end_only() -> None:
    assert str(Status(kind=K.FAILED, reason="cancelled")) == "failed(cancelled)"
    assert str(Status(kind=K.BLOCKED, reason="human_input_required")) == "blocked"
    assert str(Status(kind=K.DEAD)) == "dead"
