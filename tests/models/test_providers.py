"""Where a model is reached, by the environment."""

import pytest

from fabro.models.endpoint import Wire
from fabro.models.port import ModelError, ModelErrorKind, ModelRef
from fabro.models.providers import KEY_VARIABLES, endpoint, find_provider

GPT = ModelRef(provider="openai", name="gpt-6.1-sol")
CLAUDE = ModelRef(provider="anthropic", name="claude-sonnet-5-5")


def test_openai_itself_is_spoken_to_by_responses() -> None:
    found = endpoint(GPT, {"OPENAI_API_KEY": " key "})
    assert (found.wire, found.base_url, found.key) == (Wire.OPENAI_RESPONSES, "https://api.openai.com/v1", "key")


@pytest.mark.parametrize("key", ["", "key"])
def test_a_server_of_the_openai_family_is_spoken_to_by_chat_completions(key: str) -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1/", "OPENAI_API_KEY": key}
    found = endpoint(GPT, environment)
    assert (found.wire, found.base_url, found.key) == (Wire.OPENAI_CHAT, "http://127.0.0.1:11434/v1", key)


def test_the_usual_address_given_by_hand_changes_nothing() -> None:
    found = endpoint(GPT, {"OPENAI_BASE_URL": "https://api.openai.com/v1/", "OPENAI_API_KEY": "key"})
    assert found.wire is Wire.OPENAI_RESPONSES


def test_a_gateway_for_anthropic_speaks_the_same_protocol() -> None:
    found = endpoint(CLAUDE, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "key"})
    assert (found.wire, found.base_url) == (Wire.ANTHROPIC_MESSAGES, "http://127.0.0.1:1")


def test_a_missing_key_is_a_configuration_error_with_the_restart_in_its_hint() -> None:
    with pytest.raises(ModelError) as caught:
        endpoint(CLAUDE, {"OPENAI_API_KEY": "other"})
    assert caught.value.kind is ModelErrorKind.CONFIGURATION
    assert "fabro server restart" in (caught.value.hint or "")


def test_aliases_find_their_provider() -> None:
    google = find_provider("google")
    assert google is not None
    assert google.id == "gemini"
    assert find_provider("nobody") is None
    assert "GOOGLE_API_KEY" in KEY_VARIABLES
