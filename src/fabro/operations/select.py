"""Which runs are meant. Above: runs. Below: the store. Source: reference/mcp-server.md §0 (run selectors)."""

from fabro.calls import RunListQuery
from fabro.errors import InvalidInput, NotFound
from fabro.ids import RunId, is_run_id
from fabro.store.port import EventStore, RunQuery, RunRecord

LARGEST_PAGE = 100
PAGE = 1000
"""Runs read at once while a workflow's name is looked for."""
NAMED = 5
"""How many of an ambiguous selector's runs the error names."""


def list_query(query: RunListQuery) -> RunQuery:
    """The store's query, one run longer than the page so that its end is seen.

    Raises:
        InvalidInput: `limit` is not from 1 to 100, or `cursor` is no cursor.
    """
    if not 1 <= query.limit <= LARGEST_PAGE:
        raise InvalidInput(f"limit is {query.limit}; wanted 1 to {LARGEST_PAGE}")
    if query.cursor is not None and not is_run_id(query.cursor):
        raise InvalidInput(f"cursor {query.cursor!r} is none that a page gave", code="cursor_invalid")
    return RunQuery(
        statuses=query.statuses,
        parent_id=query.parent_id,
        before=RunId(query.cursor) if query.cursor else None,
        limit=query.limit + 1,
    )


async def resolve(store: EventStore, selector: str) -> RunId:
    """The run that a selector means.

    Raises:
        InvalidInput: blank, or the beginning of several ids.
        NotFound: it means none.
    """
    wanted = selector.strip()
    if not wanted:
        raise InvalidInput("the run selector must not be empty", code="run_selector_empty")
    by_id = await store.list(RunQuery(id_prefix=wanted.upper(), limit=NAMED + 1))
    if len(by_id) > 1:
        raise _ambiguous(wanted, by_id, "is the beginning of several runs")
    if by_id:
        return by_id[0].summary.id
    by_name = await _named(store, wanted.casefold())
    if by_name is not None:
        return by_name
    raise NotFound(
        f"no run found for {wanted!r}: it is no run id's beginning and no workflow's name",
        code="run_not_found",
        hint="`fabro ps --all` lists the runs.",
    )


async def _named(store: EventStore, wanted: str) -> RunId | None:
    """The newest run of the workflow of that name; else of the only workflow whose name holds the words.

    Raises:
        InvalidInput: the words are in the names of several workflows.
    """
    holding: dict[str, RunRecord] = {}
    before: RunId | None = None
    while True:
        page = await store.list(RunQuery(before=before, limit=PAGE))
        for record in page:
            before = record.summary.id
            names = (record.summary.workflow.slug.casefold(), record.summary.workflow.graph.casefold())
            if wanted in names:
                return before
            if any(wanted in name or wanted in _plain(name) for name in names):
                holding.setdefault(names[0], record)
        if len(page) < PAGE:
            break
    if len(holding) > 1:
        raise _ambiguous(wanted, tuple(holding.values()), "stands in the names of several workflows")
    return next(iter(holding.values())).summary.id if holding else None


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _ambiguous(wanted: str, records: tuple[RunRecord, ...], what: str) -> InvalidInput:
    named = ", ".join(
        f"{record.summary.id} ({record.summary.workflow.slug}, {record.summary.created_at:%Y-%m-%d %H:%M})"
        for record in records[:NAMED]
    )
    more = " and more" if len(records) > NAMED else ""
    return InvalidInput(
        f"{wanted!r} {what}: {named}{more}",
        code="run_selector_ambiguous",
        hint="Give more of the id, or the whole name.",
    )
