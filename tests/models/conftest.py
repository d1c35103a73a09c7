"""No test reaches a real provider: requests are off, and a test that wants them uses twins on loopback."""

from collections.abc import Iterator

import pytest
from pydantic_ai.models import override_allow_model_requests


@pytest.fixture(autouse=True)
def no_requests() -> Iterator[None]:
    with override_allow_model_requests(allow_model_requests=False):
        yield


@pytest.fixture
def loopback_requests(no_requests: None) -> Iterator[None]:
    """For tests whose every address is on this machine."""
    with override_allow_model_requests(allow_model_requests=True):
        yield
