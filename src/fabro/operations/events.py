"""A run's events for reading. Above: doors. Below: the store, the feed."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fabro.calls import EventPage, EventQuery
from fabro.errors import InvalidInput
from fabro.ids import RunId
from fabro.projections.envelope import EventEnvelope, to_envelope
from fabro.run.events import RunCompleted, RunFailed
from fabro.store.feed import follow
from fabro.store.port import EventStore

LARGEST_PAGE = 1000


class Events:
    """Implements `fabro.calls.EventCalls` in process."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def list(self, run_id: RunId, query: EventQuery) -> EventPage:
        """A page of a run's events.

        Raises:
            InvalidInput: `limit` is not from 1 to 1,000, or `after` is negative.
        """
        if not 1 <= query.limit <= LARGEST_PAGE:
            raise InvalidInput(f"limit is {query.limit}; wanted 1 to {LARGEST_PAGE}")
        if query.after is not None and query.after < 0:
            raise InvalidInput(f"after is {query.after}; wanted 0 or more")
        if query.order == "desc":
            return await self._backwards(run_id, query)
        stored = await self._store.read(run_id, after=query.after or 0, limit=query.limit + 1)
        data = tuple(to_envelope(one) for one in stored[: query.limit])
        return EventPage(data=data, has_more=len(stored) > query.limit)

    async def _backwards(self, run_id: RunId, query: EventQuery) -> EventPage:
        last = (await self._store.get(run_id)).last_seq
        top = last + 1 if query.after is None else min(query.after, last + 1)
        begin = max(0, top - 1 - query.limit)
        stored = await self._store.read(run_id, after=begin, limit=max(1, top - 1 - begin))
        data = tuple(to_envelope(one) for one in reversed(stored) if one.seq < top)
        return EventPage(data=data, has_more=begin > 0)

    async def follow(self, run_id: RunId, *, after: int = 0) -> AsyncGenerator[EventEnvelope]:
        """A run's events after a sequence number, then each new one, up to the one that ends the run.

        Raises:
            InvalidInput: `after_invalid`: the log does not go that far.
        """
        record = await self._store.get(run_id)
        if after > record.last_seq:
            raise InvalidInput(
                f"after is {after}, and run {run_id} has {record.last_seq} events", code="after_invalid"
            )
        last = record.last_seq if record.summary.status.kind.is_terminal else None
        if last is not None and after >= last:
            return
        async with aclosing(follow(self._store, run_id, after=after)) as stream:
            async for stored in stream:
                yield to_envelope(stored)
                if stored.seq == last or isinstance(stored.event, RunCompleted | RunFailed):
                    return
