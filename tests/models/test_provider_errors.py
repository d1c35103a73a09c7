"""What each provider's failure becomes: kind, wait, words; and that nothing is repeated behind our back (W-19)."""

import socket
from datetime import timedelta

import pytest

from fabro.models.catalogue import open_endpoint
from fabro.models.endpoint import Endpoint, Wire
from fabro.models.port import ModelError, ModelErrorKind, ModelRef, Prompt
from fabro.testing.provider_twin import Answer, CutOff, Failure, Garbage, ProviderTwin, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("loopback_requests")]
K = ModelErrorKind
A, R, C, G = Wire.ANTHROPIC_MESSAGES, Wire.OPENAI_RESPONSES, Wire.OPENAI_CHAT, Wire.GEMINI_GENERATE
REFS = {
    A: ModelRef.parse("anthropic:claude-sonnet-5-5"),
    R: ModelRef.parse("openai:gpt-6.1-sol"),
    C: ModelRef.parse("openai:qwen3"),
    G: ModelRef.parse("gemini:gemini-3.8-flash"),
}
BY_STATUS = {
    400: K.INVALID_REQUEST,
    401: K.AUTHENTICATION,
    402: K.QUOTA_EXCEEDED,
    403: K.ACCESS_DENIED,
    404: K.NOT_FOUND,
    408: K.TIMEOUT,
    409: K.INVALID_REQUEST,
    412: K.ACCESS_DENIED,
    413: K.CONTEXT_LENGTH,
    422: K.INVALID_REQUEST,
    429: K.RATE_LIMIT,
    500: K.SERVER,
    502: K.SERVER,
    503: K.SERVER,
    504: K.SERVER,
    529: K.SERVER,
}


async def errors_of(wire: Wire, *script: Reply) -> list[ModelError]:
    """The error of one call for each entry; a hidden retry would use up the next entry and be noticed."""
    errors: list[ModelError] = []
    with ProviderTwin(script) as twin:
        model = open_endpoint(twin.endpoint(wire, REFS[wire]))
        for number in range(1, len(script) + 1):
            with pytest.raises(ModelError) as caught:
                await model.complete(Prompt(text="hello"))
            errors.append(caught.value)
            assert len(twin.requests) == number
        await model.aclose()
    return errors


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_status_decides_the_kind_and_is_not_repeated(wire: Wire) -> None:
    script = [Failure(status=status, message="the provider's own words") for status in BY_STATUS]
    errors = await errors_of(wire, *script)
    assert {status: error.kind for status, error in zip(BY_STATUS, errors, strict=True)} == BY_STATUS
    for status, error in zip(BY_STATUS, errors, strict=True):
        for part in (str(REFS[wire]), f"HTTP {status}", "the provider's own words"):
            assert part in error.message


@pytest.mark.parametrize(
    ("wire", "reply", "kind"),
    [
        (R, Failure(status=429, code="insufficient_quota"), K.QUOTA_EXCEEDED),
        (C, Failure(status=429, code="insufficient_quota"), K.QUOTA_EXCEEDED),
        (C, Failure(status=429, code="billing_hard_limit_reached"), K.QUOTA_EXCEEDED),
        (A, Failure(status=400, code="billing_error"), K.QUOTA_EXCEEDED),
        (R, Failure(status=400, code="context_length_exceeded"), K.CONTEXT_LENGTH),
        (C, Failure(status=400, code="exceed_context_size_error"), K.CONTEXT_LENGTH),
        (
            A,
            Failure(status=400, code="invalid_request_error", message="prompt is too long: 9 tokens > 8 maximum"),
            K.CONTEXT_LENGTH,
        ),
        (R, Failure(status=400, code="content_policy_violation"), K.CONTENT_FILTER),
        (C, Failure(status=400, code="content_filter"), K.CONTENT_FILTER),
        (R, Failure(status=404, code="model_not_found"), K.NOT_FOUND),
        (A, Failure(status=529, code="overloaded_error"), K.SERVER),
    ],
)
async def test_the_providers_code_comes_before_the_status(wire: Wire, reply: Failure, kind: ModelErrorKind) -> None:
    assert [error.kind for error in await errors_of(wire, reply)] == [kind]


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_wait_that_the_provider_asks_for_is_kept(wire: Wire) -> None:
    errors = await errors_of(wire, *(Failure(status=status, retry_after=17) for status in (429, 503)))
    assert [error.retry_after for error in errors] == [timedelta(seconds=17)] * 2


@pytest.mark.parametrize("wire", list(Wire))
async def test_an_answer_that_breaks_off_or_cannot_be_read_is_a_stream_error(wire: Wire) -> None:
    bodies = ("<html>gateway</html>", "{}", "")
    errors = await errors_of(wire, CutOff(), CutOff(abrupt=True), *(Garbage(body=body) for body in bodies))
    assert [error.kind for error in errors] == [K.STREAM] * 5


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_refusal_is_an_error_and_not_an_answer(wire: Wire) -> None:
    errors = await errors_of(wire, *(Answer(text=text, finish="content_filter") for text in ("", "half")))
    assert [error.kind for error in errors] == [K.CONTENT_FILTER] * 2


@pytest.mark.parametrize("wire", list(Wire))
async def test_nobody_at_the_address_is_a_network_error(wire: Wire) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        where = Endpoint(
            ref=REFS[wire], wire=wire, base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1", key="key"
        )
        model = open_endpoint(where)
        with pytest.raises(ModelError) as caught:
            await model.complete(Prompt(text="hello"))
        await model.aclose()
    assert caught.value.kind is K.NETWORK


async def test_a_refused_key_comes_with_the_way_out() -> None:
    (error,) = await errors_of(A, Failure(status=401))
    assert "fabro server restart" in (error.hint or "")


async def test_what_a_provider_says_is_bounded() -> None:
    (error,) = await errors_of(C, Failure(status=400, message="x" * 100_000))
    assert len(error.message) < 2_200
