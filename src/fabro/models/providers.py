"""The remote providers that are known, and where each is reached. Above: the catalogue. Below: the port."""

from collections.abc import Mapping
from dataclasses import dataclass

from fabro.models.endpoint import Endpoint, Wire
from fabro.models.port import ModelError, ModelErrorKind, ModelRef

RESTART_NOTE = "A running server keeps the environment that it was started with: `fabro server restart`."


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A remote provider, and what tells that it is set up.

    `key_variables` are tried in order. `custom_wire` is spoken at a base URL that the environment gives; None means
    the usual one. `prefixes` are how its models' names begin; `aliases` are other ids that people type.
    """

    id: str
    key_variables: tuple[str, ...]
    base_url_variable: str
    base_url: str
    default_model: str
    wire: Wire
    prefixes: tuple[str, ...]
    custom_wire: Wire | None = None
    aliases: tuple[str, ...] = ()

    def key(self, environment: Mapping[str, str]) -> str:
        """The first key that is set, else an empty text."""
        return next((key for name in self.key_variables if (key := environment.get(name, "").strip())), "")


PROVIDERS = (
    Provider(
        id="anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        base_url_variable="ANTHROPIC_BASE_URL",
        base_url="https://api.anthropic.com",
        default_model="claude-sonnet-5-5",
        wire=Wire.ANTHROPIC_MESSAGES,
        prefixes=("claude-",),
    ),
    Provider(
        id="openai",
        key_variables=("OPENAI_API_KEY",),
        base_url_variable="OPENAI_BASE_URL",
        base_url="https://api.openai.com/v1",
        default_model="gpt-6.1-sol",
        wire=Wire.OPENAI_RESPONSES,
        custom_wire=Wire.OPENAI_CHAT,
        prefixes=("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-"),
    ),
    Provider(
        id="gemini",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        base_url_variable="GOOGLE_GEMINI_BASE_URL",
        base_url="https://generativelanguage.googleapis.com",
        default_model="gemini-3.8-flash",
        wire=Wire.GEMINI_GENERATE,
        prefixes=("gemini-",),
        aliases=("google",),
    ),
)
"""In the order in which a key found in the environment decides (reference/engine.md §9: priority)."""

KEY_VARIABLES = tuple(name for provider in PROVIDERS for name in provider.key_variables)
"""Every variable whose presence sets up a provider."""


def find_provider(name: str) -> Provider | None:
    """The provider with this id or alias."""
    return next((it for it in PROVIDERS if name == it.id or name in it.aliases), None)


def endpoint(ref: ModelRef, environment: Mapping[str, str]) -> Endpoint:
    """Where and how `ref` is reached; a base URL that the environment gives needs no key.

    Raises:
        ModelError: of kind `configuration`: the provider is unknown, or its key is missing.
    """
    provider = find_provider(ref.provider)
    if provider is None:
        known = ", ".join([it.id for it in PROVIDERS] + ["local", "scripted"])
        raise ModelError(
            f"the provider of {ref} is not known; wanted one of {known}", kind=ModelErrorKind.CONFIGURATION
        )
    given = environment.get(provider.base_url_variable, "").strip().rstrip("/")
    is_custom = bool(given) and given != provider.base_url
    key = provider.key(environment)
    if not key and not is_custom:
        raise ModelError(
            f"{ref} needs a key: {' or '.join(provider.key_variables)} is not in the environment",
            kind=ModelErrorKind.CONFIGURATION,
            hint=f"Export it, or choose another model. {RESTART_NOTE}",
        )
    wire = provider.custom_wire if is_custom and provider.custom_wire is not None else provider.wire
    return Endpoint(ref=ref, wire=wire, base_url=given or provider.base_url, key=key)
