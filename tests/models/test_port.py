"""References, errors and their categories."""

from datetime import timedelta

import pytest

from fabro.errors import FabroError, InvalidInput
from fabro.models.port import ModelError, ModelErrorKind, ModelRef
from fabro.run.outcome import FailureCategory

TRANSIENT = {"rate_limit", "server", "timeout", "network", "stream"}
BUDGET = {"context_length", "quota_exceeded"}


@pytest.mark.parametrize("text", ["anthropic:claude-sonnet-5-5", "openai:ft:gpt-4o:org::id", "local:smollm2-135m"])
def test_a_reference_reads_what_it_prints(text: str) -> None:
    assert str(ModelRef.parse(text)) == text


def test_only_the_first_colon_of_a_reference_separates() -> None:
    assert ModelRef.parse("openai:ft:x") == ModelRef(provider="openai", name="ft:x")


@pytest.mark.parametrize("text", ["", "claude", ":claude", "anthropic:", "  "])
def test_half_a_reference_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="provider:name"):
        ModelRef.parse(text)


@pytest.mark.parametrize("kind", list(ModelErrorKind))
def test_every_kind_has_its_category_and_only_transient_kinds_are_repeated(kind: ModelErrorKind) -> None:
    error = ModelError("no", kind=kind)
    if kind in TRANSIENT:
        expected = FailureCategory.TRANSIENT_INFRA
    elif kind in BUDGET:
        expected = FailureCategory.BUDGET_EXHAUSTED
    else:
        expected = FailureCategory.DETERMINISTIC
    assert error.category is expected
    assert error.retryable is (kind in TRANSIENT)


def test_an_error_carries_what_programs_need() -> None:
    error = ModelError("slow down", kind=ModelErrorKind.RATE_LIMIT, retry_after=timedelta(seconds=3), hint="wait")
    assert isinstance(error, FabroError)
    assert (error.code, error.hint, dict(error.details)) == ("model_rate_limit", "wait", {"kind": "rate_limit"})
    assert error.retry_after == timedelta(seconds=3)
