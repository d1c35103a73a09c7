"""The hand: real runs over a real engine, with scripted commands, and the ways in which they are cut off."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fabro.assembly import Parts, System, assemble
from fabro.calls import RunIntent
from fabro.clock import Clock, SystemClock
from fabro.errors import Conflict, InvalidInput, StorageError
from fabro.ids import RunId
from fabro.projections.run_view import RunView
from fabro.run import events as e
from fabro.run.ledger import check_log
from fabro.run.question import Selected, Text
from fabro.run.spec import RunArgs
from fabro.run.status import StatusKind
from fabro.run.target import NoTarget
from fabro.store.memory import MemoryStore
from fabro.store.memory_blobs import MemoryBlobs
from fabro.testing.fake_clock import FakeClock
from fabro.testing.memory_system import OneModel, register
from fabro.testing.scripted_model import ScriptedModel
from fabro.testing.scripted_sandbox import HANGS, Play, ScriptedProvider, ScriptedSandbox, exited

pytestmark = pytest.mark.anyio

HEAD = "start [shape=Mdiamond] exit [shape=Msquare]"
COMMAND = "shape=parallelogram, script=x"


class FailingStore(MemoryStore):
    """A store whose disk is full as often as it is told."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.failures = 0

    async def append(
        self, run_id: RunId, events: Sequence[e.Event], *, expected_seq: int, epoch: int | None = None
    ) -> tuple[e.StoredEvent, ...]:
        if self.failures and epoch is not None:
            self.failures -= 1
            raise StorageError("the disk is full")
        return await super().append(run_id, events, expected_seq=expected_seq, epoch=epoch)


class World:
    """A storage that outlives the systems over it."""

    def __init__(self, script: Sequence[Play] = (), *, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.store = FailingStore(self.clock)
        self.sandbox = ScriptedSandbox(script)
        self.model = ScriptedModel(["a summary"])
        self.parts = Parts(
            store=self.store,
            blobs=MemoryBlobs(),
            clock=self.clock,
            sandboxes=ScriptedProvider(self.sandbox),
            models=OneModel(self.model),
        )

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[System]:
        async with assemble(self.parts) as system:
            yield system

    async def log(self, run: RunView) -> tuple[e.StoredEvent, ...]:
        stored = await self.store.read(run.id, limit=10_000)
        check_log(stored)
        return stored

    async def stages(self, run: RunView) -> list[str]:
        stored = await self.log(run)
        return [one.event.stage_id for one in stored if isinstance(one.event, e.StageStarted)]


async def begin(system: System, body: str, *, args: RunArgs | None = None) -> RunView:
    calls = system.operations("test")
    version = await register(calls, f"digraph W {{ {HEAD} {body} }}")
    intent = RunIntent(workflow_version_id=version, target=NoTarget(), args=args or RunArgs(), goal="the goal")
    run = await calls.runs.create(intent)
    return await calls.runs.start(run.id)


async def end(system: System, run: RunView) -> RunView:
    waited = await system.operations("test").runs.wait([run.id], until="terminal", timeout_seconds=10)
    assert not waited.timed_out, waited.runs
    return waited.runs[0]


async def blocked(system: System, run: RunView) -> RunView:
    waited = await system.operations("test").runs.wait([run.id], until="blocked", timeout_seconds=10)
    assert waited.runs[0].lifecycle.status.kind is StatusKind.BLOCKED, waited.runs
    return waited.runs[0]


async def until_hanging(world: World) -> None:
    with anyio.fail_after(10):
        while not world.sandbox.running:
            await checkpoint()


async def test_commands_run_and_their_output_is_kept() -> None:
    world = World([exited("one\n"), exited("two\n", exit_code=3), exited("three\n")])
    nodes = f"a [{COMMAND}] b [{COMMAND}] c [{COMMAND}]"
    body = f'{nodes} start -> a -> b b -> c [condition="outcome=failed"] b -> exit c -> exit'
    async with world.system() as system:
        run = await end(system, await begin(system, body))
        state = await system.operations("test").runs.state(run.id)
    assert str(run.lifecycle.status) == "succeeded(completed)"
    assert [(s.stage_id, str(s.state)) for s in state.stages] == [
        ("start@1", "succeeded"),
        ("a@1", "succeeded"),
        ("b@1", "failed"),
        ("c@1", "succeeded"),
    ]
    outputs = [stage.command.output for stage in state.stages if stage.command]
    assert outputs == ["one\n", "two\n", "three\n"]
    failure = state.stages[2].failure
    assert failure is not None
    assert failure.message == "the script ended with exit code 3: two"


async def test_a_prompt_sees_the_goal_and_what_has_happened() -> None:
    world = World([exited("42 files\n")])
    body = f'a [{COMMAND}] p [shape=tab, prompt="Sum up {{{{ goal }}}}"] start -> a -> p -> exit'
    async with world.system() as system:
        run = await end(system, await begin(system, body))
        state = await system.operations("test").runs.state(run.id)
    [prompt] = world.model.prompts
    assert "42 files" in prompt.text
    assert prompt.text.endswith("Sum up the goal")
    shown = state.stages[-1].prompt
    assert shown is not None
    assert shown.response == "a summary"


async def test_a_gate_waits_for_a_fitting_answer() -> None:
    world = World([exited("again\n")])
    edges = 'g -> exit [label="[Y] Yes"] g -> a [label="[N] No"] a -> g'
    body = f'g [shape=hexagon, label="Go?"] a [{COMMAND}] start -> g {edges}'
    async with world.system() as system:
        run = await blocked(system, await begin(system, body))
        questions = system.operations("test").questions
        [question] = await questions.list(run.id)
        assert [(o.key, o.label) for o in question.options] == [("Y", "[Y] Yes"), ("N", "[N] No")]
        with pytest.raises(InvalidInput, match="does not fit"):
            await questions.answer(run.id, question.id, Text(text="maybe"))
        await questions.answer(run.id, question.id, Text(text="n"))
        with pytest.raises(Conflict, match="is not open"):
            await questions.answer(run.id, question.id, Selected(option_key="Y"))
        await blocked(system, run)
        [second] = await questions.list(run.id)
        assert (question.id, second.id) == ("g@1", "g@2")
        await questions.answer(run.id, second.id, Selected(option_key="Y"))
        run = await end(system, run)
    assert await world.stages(run) == ["start@1", "g@1", "a@1", "g@2"]


async def test_automatic_approval_answers_and_says_so() -> None:
    world = World()
    async with world.system() as system:
        args = RunArgs(auto_approve=True)
        run = await end(system, await begin(system, "g [shape=hexagon] start -> g -> exit", args=args))
        state = await system.operations("test").runs.state(run.id)
    interview = state.stages[-1].interview
    assert interview is not None
    assert (interview.actor, interview.ended) == ("auto", "answered")


@pytest.mark.parametrize(
    ("choice", "status", "taken"),
    [("human.default_choice=a, ", "succeeded(completed)", "a@1"), ("", "failed(workflow_error)", "g@1")],
)
async def test_a_gate_that_nobody_answers_in_time_takes_its_default_or_fails(
    choice: str, status: str, taken: str
) -> None:
    clock = FakeClock()
    world = World([exited()], clock=clock)
    body = f"g [shape=hexagon, {choice}timeout=2s] a [{COMMAND}] start -> g g -> a [label=Go] a -> exit"
    async with world.system() as system:
        run = await blocked(system, await begin(system, body))
        await clock.advance(2.5)
        run = await end(system, run)
    assert str(run.lifecycle.status) == status
    assert (await world.stages(run))[-1] == taken


async def test_a_wait_holds_nothing_and_ends_in_time() -> None:
    clock = FakeClock()
    world = World(clock=clock)
    async with world.system() as system:
        run = await begin(system, "w [shape=insulator, duration=90s] start -> w -> exit")
        with anyio.fail_after(10):
            while system.dispatcher.active:
                await checkpoint()
        await clock.advance(89)
        assert (await system.operations("t").runs.get(run.id)).lifecycle.status.kind is StatusKind.RUNNING
        await clock.advance(1)
        assert str((await end(system, run)).lifecycle.status) == "succeeded(completed)"
        state = await system.operations("t").runs.state(run.id)
    assert state.stages[-1].duration_ms == 90_000


async def test_cancelling_ends_a_command_and_then_the_run() -> None:
    world = World([HANGS])
    async with world.system() as system:
        run = await begin(system, f"a [{COMMAND}] start -> a -> exit")
        await until_hanging(world)
        runs = system.operations("test").runs
        await runs.cancel(run.id)
        await runs.cancel(run.id)
        ended = await end(system, run)
        with pytest.raises(Conflict, match="already terminal"):
            await runs.cancel(run.id)
        state = await runs.state(run.id)
    assert str(ended.lifecycle.status) == "failed(cancelled)"
    assert str(state.stages[-1].state) == "cancelled"
    assert world.sandbox.running == 0
    await world.log(run)


async def test_cancelling_withdraws_an_open_question() -> None:
    world = World()
    async with world.system() as system:
        run = await blocked(system, await begin(system, "g [shape=hexagon] start -> g -> exit"))
        calls = system.operations("test")
        await calls.runs.cancel(run.id)
        ended = await end(system, run)
        assert await calls.questions.list(run.id) == ()
    assert str(ended.lifecycle.status) == "failed(cancelled)"


async def test_a_run_that_was_not_started_is_cancelled_at_once() -> None:
    world = World()
    async with world.system() as system:
        calls = system.operations("test")
        version = await register(calls, f"digraph W {{ {HEAD} start -> exit }}")
        run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
        assert str((await calls.runs.cancel(run.id)).lifecycle.status) == "failed(cancelled)"
        with pytest.raises(Conflict, match="only a submitted one"):
            await calls.runs.start(run.id)


async def test_a_restart_does_not_repeat_what_is_done_and_repeats_what_was_cut_off() -> None:
    world = World([exited("a"), HANGS, exited("b"), exited("c")])
    body = f"a [{COMMAND}] b [{COMMAND}] c [{COMMAND}] start -> a -> b -> c -> exit"
    async with world.system() as system:
        run = await begin(system, body)
        await until_hanging(world)
    async with world.system() as system:
        ended = await end(system, run)
        state = await system.operations("test").runs.state(run.id)
    assert str(ended.lifecycle.status) == "succeeded(completed)"
    assert await world.stages(run) == ["start@1", "a@1", "b@1", "b@2", "c@1"]
    stages = {str(stage.stage_id): stage for stage in state.stages}
    assert str(stages["b@1"].state) == "cancelled"
    assert stages["b@2"].resumed_from_stage_id == "b@1"
    assert stages["b@2"].graph_visit == 1


async def test_a_question_stays_answerable_over_restarts() -> None:
    world = World()
    async with world.system() as system:
        run = await blocked(system, await begin(system, "g [shape=hexagon] start -> g -> exit"))
    async with world.system():
        pass
    async with world.system() as system:
        calls = system.operations("test")
        [question] = await calls.questions.list(run.id)
        await calls.questions.answer(run.id, question.id, Selected(option_key=question.options[0].key))
        await end(system, run)
    assert await world.stages(run) == ["start@1", "g@1"]


async def test_a_full_disk_delays_a_run_and_loses_nothing() -> None:
    clock = FakeClock()
    world = World([exited("a"), exited("b")], clock=clock)
    async with world.system() as system:
        calls = system.operations("test")
        version = await register(
            calls, f"digraph W {{ {HEAD} a [{COMMAND}] b [{COMMAND}] start -> a -> b -> exit }}"
        )
        run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
        world.store.failures = 7
        run = await calls.runs.start(run.id)
        with anyio.fail_after(10):
            while not run.lifecycle.status.kind.is_terminal:
                await clock.advance(5)
                run = await calls.runs.get(run.id)
    assert str(run.lifecycle.status) == "succeeded(completed)"
    assert world.store.failures == 0
    assert await world.stages(run) == ["start@1", "a@1", "b@1"]
    assert len(world.sandbox.requests) == 2


async def test_an_agent_fails_the_start_and_is_simulated_in_a_dry_run() -> None:
    world = World()
    body = "plan [prompt=think] start -> plan -> exit"
    async with world.system() as system:
        run = await begin(system, body)
        assert str(run.lifecycle.status) == "failed(launch_failed)"
        assert run.lifecycle.error is not None
        assert "'plan' (agent)" in run.lifecycle.error.message
        dry = await end(system, await begin(system, body, args=RunArgs(dry_run=True)))
    assert str(dry.lifecycle.status) == "succeeded(completed)"


async def test_many_runs_share_few_places() -> None:
    world = World([exited()] * 60)
    async with assemble(world.parts, places=3) as system:
        runs = [await begin(system, f"a [{COMMAND}] start -> a -> exit") for _ in range(30)]
        waited = await system.operations("t").runs.wait([r.id for r in runs], until="terminal", timeout_seconds=20)
    assert {str(run.lifecycle.status) for run in waited.runs} == {"succeeded(completed)"}


async def test_a_sandbox_that_fails_fails_the_stage_and_not_the_server() -> None:
    world = World()
    async with world.system() as system:
        run = await end(system, await begin(system, f"a [{COMMAND}] start -> a -> exit"))
        state = await system.operations("t").runs.state(run.id)
    assert str(run.lifecycle.status) == "succeeded(completed)"
    assert state.stages[-1].failure is not None
    assert "no entry" in state.stages[-1].failure.message
