"""Finding events of a run. Above: run_events. Below: the calls.

The log is read page by page in the order asked for, and only as far as the answer needs.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal

from fabro.calls import EventCalls, EventQuery
from fabro.ids import RunId
from fabro.json_value import JsonObject
from fabro.mcp_server.json_text import compact
from fabro.projections.envelope import EventEnvelope, to_json_object

LARGEST_PAGE = 1000
PAGE_BYTES = 400_000
"""How much text one answer may hold; it always holds one event."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which events are wanted. Empty and None mean all; `after` is exclusive in the direction of `order`.

    `created_after` and `created_before` are inclusive, in the form of the envelope's `ts`.
    """

    order: Literal["asc", "desc"]
    after: int | None
    ids: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    created_after: str | None = None
    created_before: str | None = None
    text: str | None = None

    @property
    def takes_all(self) -> bool:
        """Whether every event is wanted."""
        filters = (self.ids, self.types, self.categories, self.created_after, self.created_before, self.text)
        return not any(filters)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundEvent:
    """An event that is wanted: its envelope as an object and as text."""

    envelope: EventEnvelope
    whole: JsonObject
    text: str


async def find_events(
    events: EventCalls, run_id: RunId, selection: Selection, *, offset: int, first: int, longest_text: int
) -> tuple[list[FoundEvent], bool]:
    """The events wanted after the first `offset`, at most `first`, and whether there are more.

    Fewer than `first` come back, with more to follow, when their texts (each counted to `longest_text` bytes)
    would be too long together.
    """
    found: list[FoundEvent] = []
    room = PAGE_BYTES
    limit = min(LARGEST_PAGE, offset + first + 1) if selection.takes_all else LARGEST_PAGE
    async for one in _matching(events, run_id, selection, limit):
        if offset:
            offset -= 1
            continue
        room -= min(longest_text, len(one.text.encode("utf-8", "surrogatepass")))
        if len(found) == first or (found and room < 0):
            return found, True
        found.append(one)
    return found, False


async def _matching(
    events: EventCalls, run_id: RunId, selection: Selection, limit: int
) -> AsyncGenerator[FoundEvent]:
    after, missing = selection.after, set(selection.ids)
    while True:
        page = await events.list(run_id, EventQuery(after=after, order=selection.order, limit=limit))
        for envelope in page.data:
            found = _match(envelope, selection)
            if found is not None:
                missing.discard(envelope.id)
                yield found
        if not page.has_more or not page.data or (selection.ids and not missing):
            return
        after = page.data[-1].seq


def _match(envelope: EventEnvelope, selection: Selection) -> FoundEvent | None:
    if (
        (selection.ids and envelope.id not in selection.ids)
        or (selection.types and envelope.event not in selection.types)
        or (selection.categories and envelope.event.split(".", 1)[0] not in selection.categories)
        or (selection.created_after is not None and envelope.ts < selection.created_after)
        or (selection.created_before is not None and envelope.ts > selection.created_before)
    ):
        return None
    whole = to_json_object(envelope)
    text = compact(whole)
    if selection.text is not None and selection.text not in text:
        return None
    return FoundEvent(envelope=envelope, whole=whole, text=text)
