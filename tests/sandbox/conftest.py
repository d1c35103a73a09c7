"""Places for commands to run in.

A provider that runs real processes joins the conformance suite by an entry in `PROVIDERS`.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from fabro.clock import SystemClock
from fabro.ids import RunId, new_run_id
from fabro.run.target import NoTarget
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.local import LocalProvider
from fabro.sandbox.port import CommandRequest, CommandResult, Provider, Sandbox
from tests.sandbox.commands import Lifeline, Shell

SERVER_ENVIRONMENT = {
    **os.environ,
    "ANTHROPIC_API_KEY": "key-of-ours",
    "FABRO_AUTH_TOKEN": "token-of-ours",
    "FABRO_OWNER": "somebody/else/1",
    "LC_TIME": "C",
}


@pytest.fixture(scope="module")
async def keeper(anyio_backend: str) -> AsyncIterator[Keeper]:
    keeper = Keeper(new_run_id(SystemClock().now()))
    yield keeper
    await keeper.aclose()


@pytest.fixture
def run_id() -> RunId:
    return new_run_id(SystemClock().now())


def local_provider(runs: Path, keeper: Keeper) -> Provider:
    return LocalProvider(runs, keeper, environment=SERVER_ENVIRONMENT)


PROVIDERS: dict[str, Callable[[Path, Keeper], Provider]] = {"local": local_provider}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest, tmp_path: Path, keeper: Keeper) -> Provider:
    make = PROVIDERS[str(request.param)]
    return make(tmp_path / "runs", keeper)


@pytest.fixture
async def sandbox(provider: Provider, run_id: RunId) -> Sandbox:
    return await provider.prepare(run_id, NoTarget())


@pytest.fixture
def shell(sandbox: Sandbox) -> Shell:
    """Runs a script in the sandbox."""

    async def run(
        script: str, *, seconds: float = 20, stdin: bytes | None = None, **environment: str
    ) -> CommandResult:
        return await sandbox.run(
            CommandRequest(
                argv=("bash", "-c", script),
                environment=environment,
                timeout=timedelta(seconds=seconds),
                stdin=stdin,
            )
        )

    return run


@pytest.fixture
def lifeline(sandbox: Sandbox) -> Iterator[Lifeline]:
    line = Lifeline(Path(sandbox.working_directory))
    yield line
    line.close()
