"""What is repeated, how long the waits are, when it ends (engine.md §3; W-19)."""

from datetime import timedelta

import pytest

from fabro.models.port import ModelError, ModelErrorKind, Prompt
from fabro.models.retrying import Retry, RetryingModel
from fabro.testing.fake_clock import FakeClock
from fabro.testing.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.anyio
PROMPT = Prompt(text="hello")
REPEATED = [kind for kind in ModelErrorKind if ModelError("", kind=kind).retryable]
GIVEN_BACK = [kind for kind in ModelErrorKind if kind not in REPEATED]


class Bench:
    """A scripted model behind retries, on a clock that jumps."""

    def __init__(self, *script: str | ModelError | Reply, random: float = 0.5) -> None:
        self.clock = FakeClock(auto_advance=True)
        self.scripted = ScriptedModel(script, clock=self.clock)
        self.retries: list[Retry] = []
        self.model = RetryingModel(self.scripted, clock=self.clock, random=lambda: random, on_retry=self._keep)

    async def _keep(self, retry: Retry) -> None:
        self.retries.append(retry)

    @property
    def waits(self) -> list[float]:
        return [retry.delay.total_seconds() for retry in self.retries]


def failure(kind: ModelErrorKind, retry_after: float | None = None) -> ModelError:
    asked = None if retry_after is None else timedelta(seconds=retry_after)
    return ModelError(f"scripted {kind}", kind=kind, retry_after=asked)


def test_the_kinds_that_pass_by_themselves_are_the_ones_repeated() -> None:
    assert {kind.value for kind in REPEATED} == {"rate_limit", "server", "network", "stream", "timeout"}


@pytest.mark.parametrize("kind", REPEATED)
async def test_a_passing_failure_is_repeated_until_it_succeeds(kind: ModelErrorKind) -> None:
    bench = Bench(failure(kind), failure(kind), "at last")
    assert (await bench.model.complete(PROMPT)).text == "at last"
    assert bench.scripted.prompts == [PROMPT] * 3
    assert [(retry.attempt, retry.error.kind) for retry in bench.retries] == [(1, kind), (2, kind)]
    assert bench.clock.monotonic() == pytest.approx(sum(bench.waits))


@pytest.mark.parametrize("kind", GIVEN_BACK)
async def test_a_lasting_failure_is_given_back_at_once(kind: ModelErrorKind) -> None:
    bench = Bench(failure(kind), "never asked")
    with pytest.raises(ModelError) as caught:
        await bench.model.complete(PROMPT)
    assert caught.value.kind is kind
    assert len(bench.scripted.prompts) == 1
    assert bench.retries == []


async def test_three_retries_with_doubling_waits_and_then_the_last_error() -> None:
    bench = Bench(failure(ModelErrorKind.SERVER))
    with pytest.raises(ModelError, match="scripted server"):
        await bench.model.complete(PROMPT)
    assert len(bench.scripted.prompts) == 4
    assert bench.waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(("random", "waits"), [(0.0, [0.5, 1.0, 2.0]), (0.9, [1.4, 2.8, 5.6])])
async def test_jitter_spreads_each_wait_by_half(random: float, waits: list[float]) -> None:
    bench = Bench(failure(ModelErrorKind.NETWORK), random=random)
    with pytest.raises(ModelError):
        await bench.model.complete(PROMPT)
    assert bench.waits == pytest.approx(waits)


@pytest.mark.parametrize("asked", [0.0, 7.0, 60.0])
async def test_the_providers_own_wait_takes_the_place_of_ours(asked: float) -> None:
    bench = Bench(failure(ModelErrorKind.RATE_LIMIT, asked), "ok")
    await bench.model.complete(PROMPT)
    assert bench.waits == [asked]


async def test_a_wait_of_more_than_a_minute_is_given_up() -> None:
    bench = Bench(failure(ModelErrorKind.RATE_LIMIT, 61), "never asked")
    with pytest.raises(ModelError) as caught:
        await bench.model.complete(PROMPT)
    assert caught.value.retry_after == timedelta(seconds=61)
    assert len(bench.scripted.prompts) == 1


async def test_a_failure_that_changes_its_kind_is_judged_anew() -> None:
    bench = Bench(failure(ModelErrorKind.SERVER), failure(ModelErrorKind.QUOTA_EXCEEDED), "never asked")
    with pytest.raises(ModelError) as caught:
        await bench.model.complete(PROMPT)
    assert caught.value.kind is ModelErrorKind.QUOTA_EXCEEDED
    assert len(bench.scripted.prompts) == 2


async def test_the_wrapper_has_the_models_name_and_closes_it() -> None:
    bench = Bench("ok")
    assert bench.model.ref == bench.scripted.ref
    await bench.model.aclose()
