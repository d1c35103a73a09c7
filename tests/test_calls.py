"""What `fabro.calls` promises, of both that keep it: the operations in this process, and the client over HTTP."""

import tempfile
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import pytest

from fabro.calls import Calls, EventQuery, RunIntent, RunListQuery
from fabro.client.connect import connect
from fabro.errors import Conflict, FabroError, InvalidInput, NotFound, TooLarge
from fabro.ids import QuestionId, RunId, VersionId
from fabro.projections.run_view import RunView
from fabro.run.question import No, Selected, Text, Yes
from fabro.run.spec import RunArgs
from fabro.run.status import StatusKind
from fabro.run.target import FolderTarget, NoTarget
from fabro.testing.memory_server import service_over, serving
from fabro.testing.memory_system import memory_system
from fabro.testing.scripted_sandbox import HANGS, ScriptedProvider, ScriptedSandbox, exited
from fabro.workflow.version import Version
from tests.conditions import until
from tests.workflows import AGENT, COMMAND, DONE, GATE, version

pytestmark = pytest.mark.anyio

CLIENT = "calls-test 1"
UNKNOWN = RunId("01ARZ3NDEKTSV4RRFFQ69G5FAV")


@pytest.fixture
def sandbox() -> ScriptedSandbox:
    return ScriptedSandbox([exited("built\n"), HANGS])


@pytest.fixture(params=["in process", "over HTTP"])
async def calls(request: pytest.FixtureRequest, sandbox: ScriptedSandbox) -> AsyncIterator[Calls]:
    async with memory_system(sandboxes=ScriptedProvider(sandbox)) as system:
        if request.param == "in process":
            yield system.operations(CLIENT)
            return
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            async with (
                serving(service_over(system), Path(folder) / "s") as target,
                connect(target, client_name=CLIENT, environment={}) as over_http,
            ):
                yield over_http


@contextmanager
def refused(kind: type[FabroError], code: str, *words: str) -> Generator[None]:
    with pytest.raises(FabroError) as caught:
        yield
    assert (type(caught.value), caught.value.code) == (kind, code), caught.value.message
    assert [word for word in words if word not in caught.value.message] == []


async def created(calls: Calls, source: str, args: RunArgs | None = None, title: str | None = None) -> RunView:
    version_id = await calls.versions.create(version(source))
    intent = RunIntent(
        workflow_version_id=version_id, target=NoTarget(), args=args or RunArgs(), title=title, goal="{{ goal }}"
    )
    return await calls.runs.create(intent)


async def started(calls: Calls, source: str, args: RunArgs | None = None) -> RunId:
    run = await created(calls, source, args)
    await calls.runs.start(run.id)
    return run.id


async def ended(calls: Calls, run_id: RunId) -> RunView:
    waited = await calls.runs.wait([run_id], until="terminal", timeout_seconds=10)
    assert not waited.timed_out
    return waited.runs[0]


async def test_a_version_is_stored_and_read_back(calls: Calls) -> None:
    stored = Version(entrypoint="w.fabro", files={"w.fabro": DONE, "ü/\u2028.md": "ö\r\n\u2028\x01"})
    assert await calls.versions.create(stored) == stored.id
    assert await calls.versions.create(stored) == stored.id
    assert await calls.versions.get(stored.id.upper()) == stored


async def test_versions_that_can_not_be_used_are_refused(calls: Calls) -> None:
    with refused(InvalidInput, "workflow_version_invalid"):
        await calls.versions.create(version("digraph {"))
    missing = VersionId("ab" * 32)
    with refused(InvalidInput, "workflow_version_dependency_not_found", "child.fabro"):
        await calls.versions.create(
            Version(entrypoint="w", files={"w": DONE}, workflow_dependencies={"child.fabro": missing})
        )
    with refused(NotFound, "workflow_version_not_found", missing):
        await calls.versions.get(missing)


async def test_a_run_is_created_as_it_was_meant(calls: Calls) -> None:
    args = RunArgs(inputs={"a": 1, "b": "x\u2028y", "c": False, "d": 0.5}, labels={"team": "é"}, dry_run=False)
    run = await created(calls, DONE, args, title=" T ")
    assert (run.title, run.goal, run.client, run.dry_run) == ("T", "{{ goal }}", CLIENT, False)
    assert (run.labels, run.target, run.lifecycle.status.kind) == ({"team": "é"}, NoTarget(), StatusKind.SUBMITTED)
    assert (await calls.runs.get(run.id)) == run
    assert (await calls.runs.state(run.id)).inputs == args.inputs
    assert (await calls.runs.list(RunListQuery())).data == (run,)


@pytest.mark.parametrize(
    ("change", "kind", "code"),
    [
        ({"workflow_version_id": "zz"}, InvalidInput, "run_intent_invalid"),
        ({"workflow_version_id": "00" * 32}, NotFound, "workflow_version_not_found"),
        ({"environment_id": "cloud"}, NotFound, "environment_not_found"),
        ({"title": " "}, InvalidInput, "run_intent_invalid"),
        ({"title": "x" * 101}, InvalidInput, "run_intent_invalid"),
        ({"title": "a\nb"}, InvalidInput, "run_intent_invalid"),
        ({"parent_id": "none"}, InvalidInput, "run_intent_invalid"),
        ({"parent_id": UNKNOWN}, NotFound, "parent_not_found"),
        ({"target": FolderTarget(path="relative")}, InvalidInput, "target_invalid"),
        ({"target": FolderTarget(path="/no/such/folder")}, InvalidInput, "target_invalid"),
        ({"args": RunArgs(inputs={"n": 1 << 70})}, InvalidInput, "run_intent_invalid"),
        ({"args": RunArgs(inputs={"n": float("nan")})}, InvalidInput, "run_intent_invalid"),
        ({"args": RunArgs(inputs={"n": float("inf")})}, InvalidInput, "run_intent_invalid"),
    ],
)
async def test_intents_that_break_a_rule_leave_nothing_behind(
    calls: Calls, change: dict[str, object], kind: type[FabroError], code: str
) -> None:
    version_id = await calls.versions.create(version(DONE))
    fields: dict[str, object] = {"workflow_version_id": version_id, "target": NoTarget(), **change}
    with refused(kind, code):
        await calls.runs.create(RunIntent(**fields))  # pyright: ignore[reportArgumentType] - wrong on purpose
    assert (await calls.runs.list(RunListQuery())).data == ()


async def test_a_run_executes_and_tells_everything(calls: Calls) -> None:
    run = await ended(calls, await started(calls, COMMAND))
    assert str(run.lifecycle.status) == "succeeded(completed)"
    assert run.timestamps.completed_at is not None
    state = await calls.runs.state(run.id)
    build = next(stage for stage in state.stages if stage.node_id == "build")
    assert build.command is not None
    assert (build.command.output, build.command.exit_code, build.stage_id) == ("built\n", 0, "build@1")
    assert [one.current_node for one in state.checkpoints] == ["start", "build"]


async def test_a_run_starts_once(calls: Calls) -> None:
    run_id = await started(calls, DONE)
    await ended(calls, run_id)
    with refused(Conflict, "run_not_startable"):
        await calls.runs.start(run_id)


async def test_a_run_that_nothing_here_executes_fails_at_once(calls: Calls) -> None:
    run = await created(calls, AGENT)
    failed = await calls.runs.start(run.id)
    assert str(failed.lifecycle.status) == "failed(launch_failed)"
    assert failed.lifecycle.error is not None


async def test_cancelling(calls: Calls, sandbox: ScriptedSandbox) -> None:
    submitted = await created(calls, DONE)
    assert str((await calls.runs.cancel(submitted.id)).lifecycle.status) == "failed(cancelled)"
    with refused(Conflict, "run_terminal"):
        await calls.runs.cancel(submitted.id)
    await ended(calls, await started(calls, COMMAND))
    hanging = await started(calls, COMMAND)

    async def hangs() -> bool:
        return sandbox.running == 1

    await until(hangs)
    asked = await calls.runs.cancel(hanging)
    assert asked.lifecycle.pending_control in ("cancel", None)
    assert str((await ended(calls, hanging)).lifecycle.status) == "failed(cancelled)"


async def test_every_call_names_an_unknown_run(calls: Calls) -> None:
    for call in (calls.runs.get, calls.runs.state, calls.runs.start, calls.runs.cancel, calls.questions.list):
        with refused(NotFound, "run_not_found"):
            await call(UNKNOWN)
    with refused(NotFound, "run_not_found"):
        await calls.events.list(UNKNOWN, EventQuery())
    with refused(NotFound, "run_not_found"):
        await calls.questions.answer(UNKNOWN, "gate@1", Yes())
    with refused(NotFound, "run_not_found"):
        await calls.runs.wait([UNKNOWN], until="terminal", timeout_seconds=1)
    with refused(NotFound, "run_not_found"):
        async with aclosing(calls.events.follow(UNKNOWN)) as stream:
            await anext(stream)
    for odd in ("", "..", "a/b", "%2F", "x\u2028?#"):
        with pytest.raises(FabroError):
            await calls.runs.state(RunId(odd))


async def test_lists_are_paged_and_filtered(calls: Calls) -> None:
    runs = [await created(calls, DONE) for _ in range(5)]
    await calls.runs.cancel(runs[2].id)
    newest = [run.id for run in reversed(runs)]
    first = await calls.runs.list(RunListQuery(limit=2))
    assert [run.id for run in first.data] == newest[:2]
    second = await calls.runs.list(RunListQuery(limit=2, cursor=first.next_cursor))
    last = await calls.runs.list(RunListQuery(limit=2, cursor=second.next_cursor))
    assert [run.id for run in (*second.data, *last.data)] == newest[2:]
    assert last.next_cursor is None
    some = await calls.runs.list(RunListQuery(statuses=frozenset({StatusKind.FAILED, StatusKind.DEAD})))
    assert [run.id for run in some.data] == [runs[2].id]
    assert (await calls.runs.list(RunListQuery(parent_id=runs[0].id))).data == ()
    with refused(InvalidInput, "invalid_request", "limit"):
        await calls.runs.list(RunListQuery(limit=101))
    with refused(InvalidInput, "cursor_invalid"):
        await calls.runs.list(RunListQuery(cursor="x"))


async def test_selectors(calls: Calls) -> None:
    first, second = await created(calls, DONE), await created(calls, GATE)
    assert await calls.runs.resolve(first.id.lower()) == first.id
    assert await calls.runs.resolve(" gate ") == second.id
    with refused(InvalidInput, "run_selector_ambiguous", first.id, second.id):
        await calls.runs.resolve(first.id[:3])
    with refused(InvalidInput, "run_selector_empty"):
        await calls.runs.resolve("  ")
    with refused(NotFound, "run_not_found"):
        await calls.runs.resolve("nothing & such")


async def test_a_question_is_answered_once(calls: Calls) -> None:
    run_id = await started(calls, GATE)
    waited = await calls.runs.wait([run_id], until="blocked", timeout_seconds=10)
    assert (waited.timed_out, waited.runs[0].open_questions) == (False, (QuestionId("gate@1"),))
    (question,) = await calls.questions.list(run_id)
    assert [option.key for option in question.options] == ["Y", "N"]
    for wrong in (Yes(), No(), Selected(option_key="Q"), Text(text="maybe")):
        with refused(InvalidInput, "answer_invalid"):
            await calls.questions.answer(run_id, question.id, wrong)
    with refused(Conflict, "question_closed"):
        await calls.questions.answer(run_id, "other/question@1?", Text(text="y"))
    assert await calls.questions.list(run_id) == (question,)
    await calls.questions.answer(run_id, question.id, Text(text="y"), actor="Ada")
    assert str((await ended(calls, run_id)).lifecycle.status) == "succeeded(completed)"
    with refused(Conflict, "question_closed"):
        await calls.questions.answer(run_id, question.id, Text(text="n"))
    gate = next(stage for stage in (await calls.runs.state(run_id)).stages if stage.interview is not None)
    assert gate.interview is not None
    assert (gate.interview.answer, gate.interview.actor) == (Selected(option_key="Y"), "Ada")


async def test_waiting_ends_with_the_time_too(calls: Calls) -> None:
    blocked, done = await started(calls, GATE), await started(calls, DONE)
    waited = await calls.runs.wait([done, blocked], until="terminal", timeout_seconds=0.2)
    assert waited.timed_out
    assert [run.id for run in waited.runs] == [done, blocked]
    assert not (await calls.runs.wait([done, blocked], until="blocked", timeout_seconds=10)).timed_out


async def test_events_are_paged_both_ways(calls: Calls) -> None:
    run = await ended(calls, await started(calls, COMMAND))
    whole = await calls.events.list(run.id, EventQuery())
    assert ([event.seq for event in whole.data], whole.has_more) == (list(range(1, run.last_seq + 1)), False)
    some = await calls.events.list(run.id, EventQuery(after=3, limit=2))
    assert ([event.seq for event in some.data], some.has_more) == ([4, 5], True)
    back = await calls.events.list(run.id, EventQuery(order="desc", limit=2))
    assert ([event.seq for event in back.data], back.has_more) == ([run.last_seq, run.last_seq - 1], True)
    rest = await calls.events.list(run.id, EventQuery(order="desc", after=3))
    assert ([event.seq for event in rest.data], rest.has_more) == ([2, 1], False)
    for wrong in (EventQuery(limit=0), EventQuery(limit=1001), EventQuery(after=-1)):
        with pytest.raises(InvalidInput):
            await calls.events.list(run.id, wrong)


async def test_a_run_is_followed_to_its_end(calls: Calls) -> None:
    run_id = await started(calls, GATE)
    seen: list[int] = []
    with anyio.fail_after(10):
        async with aclosing(calls.events.follow(run_id)) as stream:
            async for event in stream:
                seen.append(event.seq)
                if event.event == "run.blocked":
                    await calls.questions.answer(run_id, "gate@1", Text(text="y"))
        last = (await calls.runs.get(run_id)).last_seq
        assert seen == list(range(1, last + 1))
        assert [event.seq async for event in calls.events.follow(run_id, after=last - 2)] == [last - 1, last]
        assert [event.seq async for event in calls.events.follow(run_id, after=last)] == []
    assert [event async for event in calls.events.follow(run_id)] == list(
        (await calls.events.list(run_id, EventQuery())).data
    )


async def test_a_follower_may_leave(calls: Calls) -> None:
    run_id = await started(calls, GATE)
    async with aclosing(calls.events.follow(run_id)) as stream:
        assert (await anext(stream)).event == "run.created"
    assert (await calls.runs.get(run_id)).id == run_id


async def test_what_is_too_large_is_refused(calls: Calls) -> None:
    with refused(TooLarge, "workflow_version_too_large"):
        await calls.versions.create(version("x" * (600 << 10)))
