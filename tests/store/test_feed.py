"""Following a run: what is stored, then what comes."""

from collections.abc import Sequence
from contextlib import aclosing

import anyio
import pytest

from fabro.errors import NotFound
from fabro.ids import RunId
from fabro.store.commits import Commits
from fabro.store.feed import BATCH, follow
from fabro.store.port import EventStore
from tests.store.logs import created, notice, run_ids

pytestmark = pytest.mark.anyio
(RUN,) = run_ids(1)


async def write(store: EventStore, count: int, *, at_once: int = 1) -> None:
    """Let the run grow by `count` notices."""
    seq = (await store.get(RUN)).last_seq
    for first in range(seq, seq + count, at_once):
        batch = [notice(str(n)) for n in range(first, min(first + at_once, seq + count))]
        await store.append(RUN, batch, expected_seq=first)


async def take(store: EventStore, count: int, *, after: int = 0) -> Sequence[int]:
    """The sequence numbers of the next events that a follower gets."""
    seqs: list[int] = []
    with anyio.fail_after(30):
        async with aclosing(follow(store, RUN, after=after)) as feed:
            while len(seqs) < count:
                seqs.append((await anext(feed)).seq)
    return seqs


def watched(commits: Commits) -> bool:
    """Whether anybody still watches anything."""
    return bool(commits._of_run)  # pyright: ignore[reportPrivateUsage] - what must not be left


async def test_stored_events_then_live_ones(store: EventStore) -> None:
    await store.create(RUN, [created(), notice(), notice()])
    async with anyio.create_task_group() as group:
        group.start_soon(write, store, 20)
        assert await take(store, 22, after=1) == list(range(2, 24))


@pytest.mark.parametrize("count", [BATCH - 1, BATCH, BATCH + 1, 2 * BATCH])
async def test_a_log_that_fills_batches_exactly(store: EventStore, count: int) -> None:
    await store.create(RUN, [created()])
    await write(store, count - 1, at_once=100)
    assert await take(store, count) == list(range(1, count + 1))
    async with anyio.create_task_group() as group:
        group.start_soon(write, store, 1)
        assert await take(store, 1, after=count) == [count + 1]


async def test_many_followers_see_the_same(store: EventStore) -> None:
    await store.create(RUN, [created()])
    seen: list[Sequence[int]] = []

    async def one(after: int) -> None:
        seen.append([*range(1, after + 1), *await take(store, 61 - after, after=after)])

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number % 3)
        group.start_soon(write, store, 60)
    assert seen == [list(range(1, 62))] * 20


async def test_a_slow_follower_misses_nothing(store: EventStore) -> None:
    await store.create(RUN, [created()])
    with anyio.fail_after(30):
        async with aclosing(follow(store, RUN)) as feed:
            assert (await anext(feed)).seq == 1
            await write(store, 3 * BATCH, at_once=7)
            assert [(await anext(feed)).seq for _ in range(3 * BATCH)] == list(range(2, 3 * BATCH + 2))


async def test_a_follower_that_goes_leaves_nothing(store: EventStore) -> None:
    await store.create(RUN, [created()])
    await take(store, 1)
    with anyio.move_on_after(0.01) as waited:
        await take(store, 2)
    assert waited.cancelled_caught
    assert not watched(store.commits)


async def test_watchers_leave_nothing() -> None:
    commits = Commits()
    with commits.watch([RUN, RUN]), commits.watch([RUN]):
        assert watched(commits)
    assert not watched(commits)


async def test_a_run_that_is_not_there(store: EventStore) -> None:
    async with aclosing(follow(store, RunId("none"))) as feed:
        with pytest.raises(NotFound):
            await anext(feed)
    assert not watched(store.commits)
