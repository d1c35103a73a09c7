"""What every store promises, sentence by sentence."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from fabro.clock import to_millis
from fabro.errors import Conflict, InvalidInput, NotFound, StorageError, TooLarge
from fabro.ids import RunId, StageId
from fabro.json_value import JsonValue
from fabro.run import events as e
from fabro.run.ledger import IllegalEvent
from fabro.run.outcome import Failure
from fabro.run.status import IllegalTransition, StatusKind
from fabro.store.codec import MAX_EVENT_BYTES
from fabro.store.port import EventStore, RunQuery, RunRecord, SeqConflict, StaleEpoch
from fabro.testing.fake_clock import FakeClock
from tests.store.logs import FAILED, SPEC, TO_RUNNING, created, notice, run_ids, visit

pytestmark = pytest.mark.anyio
(RUN,) = run_ids(1)


async def start(store: EventStore, run_id: RunId = RUN, *more: e.Event, parent: RunId | None = None) -> RunRecord:
    return await store.create(run_id, [created(parent), *more])


async def names(store: EventStore, run_id: RunId = RUN) -> Sequence[str]:
    return [stored.event.name for stored in await store.read(run_id)]


async def listed(store: EventStore, query: RunQuery) -> Sequence[RunId]:
    return [record.summary.id for record in await store.list(query)]


async def test_a_created_run_can_be_got_and_read(store: EventStore, clock: FakeClock) -> None:
    record = await start(store, RUN, e.RunSubmitted())
    assert await store.get(RUN) == record
    assert (record.last_seq, record.epoch, record.last_event_at) == (2, 0, clock.now())
    assert record.summary.id == RUN
    assert record.summary.title == SPEC.title
    assert record.summary.status.kind is StatusKind.SUBMITTED
    assert [(stored.seq, stored.event) for stored in await store.read(RUN)] == [
        (1, created()),
        (2, e.RunSubmitted()),
    ]


async def test_an_id_is_created_once(store: EventStore) -> None:
    await start(store)
    with pytest.raises(Conflict) as caught:
        await start(store, RUN, notice())
    assert caught.value.code == "run_exists"
    assert await names(store) == ["run.created"]


@pytest.mark.parametrize(
    "events",
    [[], [e.RunSubmitted()], [created(), created()], [created(), *visit(1)], [created(), e.RunCompleted()]],
    ids=["none", "no run.created", "two", "stage before running", "end before running"],
)
async def test_an_illegal_beginning_leaves_no_run(store: EventStore, events: Sequence[e.Event]) -> None:
    with pytest.raises((IllegalEvent, IllegalTransition)):
        await store.create(RUN, events)
    with pytest.raises(NotFound):
        await store.get(RUN)
    assert await store.list(RunQuery()) == ()
    await start(store)


async def test_what_append_returns_is_what_is_read(store: EventStore, clock: FakeClock) -> None:
    await start(store)
    await clock.advance(1.234567)
    appended = await store.append(RUN, [*TO_RUNNING, *visit(1)], expected_seq=1)
    assert [stored.seq for stored in appended] == list(range(2, 9))
    assert await store.read(RUN, after=1) == appended
    assert {to_millis(stored.at) for stored in appended} == {to_millis(clock.now())}
    record = await store.get(RUN)
    assert (record.last_seq, record.last_event_at) == (8, appended[-1].at)


async def test_times_are_kept_to_the_millisecond(store: EventStore, clock: FakeClock) -> None:
    await clock.advance(0.0019)
    record = await start(store)
    assert record.last_event_at - clock.now() == timedelta(microseconds=-900)
    assert (await store.get(RUN)).summary.created_at == record.summary.created_at


async def test_an_append_is_all_or_nothing(store: EventStore) -> None:
    await start(store, RUN, *TO_RUNNING)
    before = await store.get(RUN)
    opened = e.StageStarted(stage_id=StageId("a@1"), handler_type="agent")
    with pytest.raises(IllegalEvent):
        await store.append(RUN, [opened, opened], expected_seq=4)
    assert await store.get(RUN) == before
    assert len(await store.read(RUN)) == 4
    await store.append(RUN, [opened], expected_seq=4)


async def test_a_refused_status_leaves_the_summary_alone(store: EventStore) -> None:
    await start(store, RUN, *TO_RUNNING)
    with pytest.raises(IllegalTransition):
        await store.append(RUN, [e.RunBlocked(), notice(), e.RunCompleted()], expected_seq=4)
    assert (await store.get(RUN)).summary.status.kind is StatusKind.RUNNING
    assert await listed(store, RunQuery(statuses=frozenset({StatusKind.BLOCKED}))) == []
    await store.append(RUN, visit(1), expected_seq=4)


async def test_an_append_of_nothing_is_refused(store: EventStore) -> None:
    await start(store)
    with pytest.raises(IllegalEvent, match="events is empty"):
        await store.append(RUN, [], expected_seq=1)


async def test_a_run_that_is_not_there(store: EventStore) -> None:
    strange = [RUN, RunId(""), RunId("no\ud800run"), RunId("a\0b")]
    for run_id in strange:
        for call in (
            lambda run_id=run_id: store.get(run_id),
            lambda run_id=run_id: store.read(run_id),
            lambda run_id=run_id: store.claim(run_id),
            lambda run_id=run_id: store.append(run_id, [notice()], expected_seq=1),
        ):
            with pytest.raises(NotFound) as caught:
                await call()
            assert caught.value.code == "run_not_found"


@pytest.mark.parametrize("expected", [-1, 0, 1, 3, 2**70])
async def test_an_append_in_the_wrong_place(store: EventStore, expected: int) -> None:
    await start(store, RUN, e.RunSubmitted())
    with pytest.raises(SeqConflict) as caught:
        await store.append(RUN, [notice()], expected_seq=expected)
    assert caught.value.details == {"last_seq": 2}
    assert len(await store.read(RUN)) == 2


async def test_a_claim_shuts_out_earlier_ones(store: EventStore) -> None:
    await start(store)
    first = await store.claim(RUN)
    await store.append(RUN, [notice()], expected_seq=1, epoch=first.epoch)
    second = await store.claim(RUN)
    assert (first.epoch, second.epoch, second.last_seq) == (1, 2, 2)
    for epoch in (first.epoch, 0, 3, 2**70):
        with pytest.raises(StaleEpoch):
            await store.append(RUN, [notice()], expected_seq=2, epoch=epoch)
    await store.append(RUN, [notice()], expected_seq=2)
    await store.append(RUN, [notice()], expected_seq=3, epoch=second.epoch)
    assert (await store.get(RUN)).epoch == 2


async def test_a_stale_worker_hears_of_the_claim_before_anything_else(store: EventStore) -> None:
    await start(store)
    await store.claim(RUN)
    with pytest.raises(StaleEpoch):
        await store.append(RUN, [created()], expected_seq=7, epoch=0)


async def test_nothing_but_notices_follows_the_end(store: EventStore) -> None:
    await start(store, RUN, *TO_RUNNING, FAILED)
    with pytest.raises(IllegalEvent) as caught:
        await store.append(RUN, [e.RunRunning()], expected_seq=5)
    assert caught.value.code == "run_terminal"
    await store.append(RUN, [notice(), e.UnknownEvent(name="run.archived", properties={})], expected_seq=5)
    assert (await store.get(RUN)).summary.error == "no way on"


async def test_an_event_that_could_not_be_read_again_is_refused(store: EventStore) -> None:
    await start(store)
    deep: JsonValue = None
    for _ in range(500):
        deep = [deep]
    wrong = e.UnknownEvent(name="run.future", properties={"deep": deep})
    with pytest.raises(IllegalEvent, match=r"run\.future can't be written"):
        await store.append(RUN, [notice(), wrong], expected_seq=1)
    with pytest.raises(TooLarge):
        await store.append(RUN, [notice("x" * (MAX_EVENT_BYTES + 1))], expected_seq=1)
    assert len(await store.read(RUN)) == 1


@pytest.mark.parametrize(
    "text", ["nul \0 ends nothing", "\x1b[31mred", "lone \ud83d half", "halves \ud83d\ude00", "é𝄞"]
)
async def test_any_text_is_kept(store: EventStore, text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    await start(store)
    (stored,) = await store.append(RUN, [notice(text)], expected_seq=1)
    assert stored.event == notice(whole)
    assert await store.read(RUN, after=1) == (stored,)


async def test_a_large_event_is_read_as_it_was_written(store: EventStore) -> None:
    await start(store, RUN, *TO_RUNNING)
    large = {"log": "line\n" * 100_000, "rows": list(range(1000))}
    stage = StageId("a@1")
    events = [
        e.StageStarted(stage_id=stage, handler_type="agent"),
        e.StageFailed(stage_id=stage, failure=Failure(message="x" * 200_000), context_updates=large),
    ]
    stored = await store.append(RUN, events, expected_seq=4)
    assert [one.event for one in await store.read(RUN, after=4)] == events
    assert await store.read(RUN, after=4) == stored


async def test_reading_in_pages(store: EventStore) -> None:
    await start(store, RUN, *TO_RUNNING, *(notice(str(n)) for n in range(6)))

    async def seqs(after: int, limit: int) -> Sequence[int]:
        return [stored.seq for stored in await store.read(RUN, after=after, limit=limit)]

    assert await seqs(0, 3) == [1, 2, 3]
    assert await seqs(3, 3) == [4, 5, 6]
    assert await seqs(9, 3) == [10]
    assert await seqs(10, 3) == []
    assert await seqs(2**70, 3) == []
    assert await seqs(-5, 2) == [1, 2]
    assert await seqs(4, 0) == []
    assert await seqs(4, -1) == []
    assert await seqs(8, 2**70) == [9, 10]


async def test_lists_are_newest_first_and_page_without_gap(store: EventStore) -> None:
    ids = run_ids(7)
    for run_id in (ids[2], ids[0], ids[6], ids[1], ids[5], ids[3], ids[4]):
        await start(store, run_id)
    assert await listed(store, RunQuery()) == ids[::-1]
    page = await listed(store, RunQuery(limit=3))
    assert page == [ids[6], ids[5], ids[4]]
    (newer,) = run_ids(8)[7:]
    await start(store, newer)
    assert await listed(store, RunQuery(limit=3, before=page[-1])) == [ids[3], ids[2], ids[1]]
    assert await listed(store, RunQuery(before=ids[0])) == []
    assert await listed(store, RunQuery(before=RunId(ids[1] + "0"))) == [ids[1], ids[0]]


async def test_lists_by_status(store: EventStore) -> None:
    ids = run_ids(6)
    for number, run_id in enumerate(ids):
        await start(store, run_id, *([], TO_RUNNING, [*TO_RUNNING, FAILED])[number % 3])
    running = frozenset({StatusKind.RUNNING})
    assert await listed(store, RunQuery(statuses=running)) == [ids[4], ids[1]]
    two = RunQuery(statuses=running | {StatusKind.FAILED}, limit=3)
    assert await listed(store, two) == [ids[5], ids[4], ids[2]]
    assert await listed(store, replace(two, before=ids[2])) == [ids[1]]
    await store.append(ids[1], [FAILED], expected_seq=4)
    assert await listed(store, RunQuery(statuses=running)) == [ids[4]]


async def test_lists_of_children(store: EventStore) -> None:
    ids = run_ids(5)
    await start(store, ids[0])
    for run_id in ids[1:4]:
        await start(store, run_id, parent=ids[0])
    await start(store, ids[4], parent=ids[1])
    await store.append(ids[2], [*TO_RUNNING], expected_seq=1)
    children = RunQuery(parent_id=ids[0])
    assert await listed(store, children) == [ids[3], ids[2], ids[1]]
    assert await listed(store, replace(children, before=ids[3], limit=1)) == [ids[2]]
    assert await listed(store, replace(children, statuses=frozenset({StatusKind.SUBMITTED}))) == [ids[3], ids[1]]
    assert await listed(store, RunQuery(parent_id=RunId("none"))) == []


async def test_lists_by_id_prefix_whatever_its_case(store: EventStore) -> None:
    ids = [RunId(f"01AB{last}") for last in ("0", "1", "Z")] + [RunId("01AC0")]
    for run_id in ids:
        await start(store, run_id)
    assert await listed(store, RunQuery(id_prefix="01ab")) == [ids[2], ids[1], ids[0]]
    assert await listed(store, RunQuery(id_prefix="01AB", before=ids[2], limit=1)) == [ids[1]]
    assert await listed(store, RunQuery(id_prefix="01A", before=ids[3])) == [ids[2], ids[1], ids[0]]
    assert await listed(store, RunQuery(id_prefix=ids[1])) == [ids[1]]
    assert await listed(store, RunQuery(id_prefix="01ab\ud800")) == []
    assert await listed(store, RunQuery(id_prefix="%")) == []


async def test_lists_of_what_is_archived(store: EventStore) -> None:
    await start(store)
    assert await listed(store, RunQuery(archived=False)) == [RUN]
    assert await listed(store, RunQuery(archived=True)) == []
    assert await listed(store, RunQuery(archived=True, statuses=frozenset(StatusKind))) == []
    assert await listed(store, RunQuery(archived=False, statuses=frozenset(StatusKind))) == [RUN]


@pytest.mark.parametrize("limit", [-1, 0, 1001])
async def test_a_page_of_impossible_size(store: EventStore, limit: int) -> None:
    with pytest.raises(InvalidInput, match=f"limit is {limit}"):
        await store.list(RunQuery(limit=limit))


async def test_of_many_who_write_at_once_one_wins(store: EventStore) -> None:
    await start(store)
    won: list[int] = []

    async def write(number: int) -> None:
        try:
            await store.append(RUN, [notice(str(number))], expected_seq=1)
        except SeqConflict:
            return
        won.append(number)

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(write, number)
    assert len(won) == 1
    assert [stored.event for stored in await store.read(RUN, after=1)] == [notice(str(won[0]))]


async def test_many_runs_grow_at_once(store: EventStore) -> None:
    ids = run_ids(30)

    async def work(run_id: RunId) -> None:
        record = await start(store, run_id, *TO_RUNNING)
        for ordinal in range(1, 6):
            stored = await store.append(run_id, visit(ordinal), expected_seq=record.last_seq)
            assert [one.seq for one in stored] == list(range(record.last_seq + 1, record.last_seq + 5))
            record = await store.get(run_id)

    async with anyio.create_task_group() as group:
        for run_id in ids:
            group.start_soon(work, run_id)
    for run_id in ids:
        assert [one.seq for one in await store.read(run_id)] == list(range(1, 25))


async def test_one_refusal_among_many_hurts_no_other(store: EventStore) -> None:
    ids = run_ids(20)
    for run_id in ids:
        await start(store, run_id, *TO_RUNNING)
    refused: list[RunId] = []

    async def work(number: int, run_id: RunId) -> None:
        events = [*visit(1), created()] if number % 2 else visit(1)
        try:
            await store.append(run_id, events, expected_seq=4)
        except IllegalEvent:
            refused.append(run_id)

    async with anyio.create_task_group() as group:
        for number, run_id in enumerate(ids):
            group.start_soon(work, number, run_id)
    assert sorted(refused) == ids[1::2]
    for number, run_id in enumerate(ids):
        assert (await store.get(run_id)).last_seq == (4 if number % 2 else 8)


async def test_watchers_hear_of_commits_and_of_nothing_else(store: EventStore) -> None:
    other, watched = run_ids(2)
    await start(store, other)
    with store.commits.watch([watched]) as watch, store.commits.watch([other]) as others:
        with pytest.raises(NotFound):
            await store.append(watched, [notice()], expected_seq=1)
        await store.append(other, [notice()], expected_seq=1)
        await store.claim(other)
        with anyio.fail_after(5):
            await others.changed()
        with anyio.move_on_after(0.01) as waited:
            await watch.changed()
        assert waited.cancelled_caught
        await start(store, watched)
        with anyio.fail_after(5):
            await watch.changed()
        assert (await store.get(watched)).last_seq == 1


async def test_a_closed_store_says_so(store: EventStore) -> None:
    await start(store)
    await store.close()
    await store.close()
    for call in (
        lambda: start(store),
        lambda: store.append(RUN, [notice()], expected_seq=1),
        lambda: store.claim(RUN),
        lambda: store.get(RUN),
        lambda: store.read(RUN),
        lambda: store.list(RunQuery()),
    ):
        with pytest.raises(StorageError) as caught:
            await call()
        assert caught.value.code == "storage_closed"
