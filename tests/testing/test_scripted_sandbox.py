"""The scripted sandbox plays what it was told, and keeps the port's promises about time and cancellation."""

from datetime import timedelta

import anyio
import pytest

from fabro.clock import SystemClock
from fabro.ids import new_run_id
from fabro.run.target import NoTarget
from fabro.sandbox.port import CommandRequest, Provider, Sandbox, SandboxError
from fabro.testing.scripted_sandbox import HANGS, ScriptedProvider, ScriptedSandbox, exited, not_started, signaled

pytestmark = pytest.mark.anyio


def request(word: str = "true", *, seconds: float = 60) -> CommandRequest:
    return CommandRequest(argv=(word,), timeout=timedelta(seconds=seconds))


async def test_results_come_in_the_order_of_the_script() -> None:
    script = [exited("č", exit_code=3), signaled(9), not_started("no such command")]
    sandbox = ScriptedSandbox(script)
    results = [await sandbox.run(request(word)) for word in ("a", "b", "c")]
    assert results == script
    assert [(result.termination, result.exit_code, result.output_bytes) for result in results] == [
        ("exited", 3, 2),
        ("signaled", 137, 0),
        ("not_started", None, 0),
    ]
    assert [each.argv for each in sandbox.requests] == [("a",), ("b",), ("c",)]


async def test_errors_are_raised_and_a_command_too_many_is_one() -> None:
    sandbox = ScriptedSandbox([SandboxError("the place is gone")])
    with pytest.raises(SandboxError, match="gone"):
        await sandbox.run(request())
    with pytest.raises(SandboxError, match=r"no entry for \('true',\)"):
        await sandbox.run(request())


async def test_a_hanging_command_runs_out_of_time() -> None:
    result = await ScriptedSandbox([HANGS]).run(request(seconds=0.01))
    assert (result.termination, result.exit_code) == ("timed_out", None)


async def test_a_hanging_command_ends_when_it_is_cancelled() -> None:
    sandbox = ScriptedSandbox([HANGS, HANGS])
    async with anyio.create_task_group() as group:
        group.start_soon(sandbox.run, request())
        group.start_soon(sandbox.run, request())
        await anyio.wait_all_tasks_blocked()
        assert sandbox.running == 2
        group.cancel_scope.cancel()
    assert (sandbox.running, sandbox.cancelled) == (0, 2)


async def test_a_hanging_command_ends_when_it_is_told_to_stop() -> None:
    sandbox = ScriptedSandbox([HANGS])
    stop = anyio.Event()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            assert (await sandbox.run(request(), stop=stop)).termination == "cancelled"

        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        stop.set()
    assert (await sandbox.run(request(), stop=stop)).termination == "cancelled"
    assert len(sandbox.requests) == 1


async def test_nothing_starts_after_a_cancellation() -> None:
    sandbox: Sandbox = ScriptedSandbox([exited()])
    with anyio.CancelScope() as scope:
        scope.cancel()
        await sandbox.run(request())
    assert scope.cancelled_caught
    assert (await sandbox.run(request())).exit_code == 0


async def test_the_provider_gives_every_run_the_one_sandbox() -> None:
    sandbox = ScriptedSandbox(working_directory="/there")
    scripted = ScriptedProvider(sandbox)
    provider: Provider = scripted
    run_id = new_run_id(SystemClock().now())
    assert await provider.prepare(run_id, NoTarget()) is sandbox
    assert sandbox.working_directory == "/there"
    assert scripted.prepared == [(run_id, NoTarget())]
