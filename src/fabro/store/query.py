"""Which runs a query means, where they are kept in the order of their ids. Above: memory, sqlite. Below: port."""

from fabro.projections.summary import RunSummary
from fabro.store.port import RunQuery

_PAST_EVERY_ID = "\U0010ffff"


def id_range(query: RunQuery) -> tuple[str, str]:
    """The ids that the query's prefix and cursor leave: from the first on, and less than the second, both as
    Unicode's code points (and so UTF-8's bytes) order them.
    """
    prefix = query.id_prefix.upper()
    high = prefix + _PAST_EVERY_ID
    return prefix, high if query.before is None else min(high, query.before)


def fits(summary: RunSummary, query: RunQuery) -> bool:
    """Whether a run is meant, its id aside."""
    return (
        (not query.statuses or summary.status.kind in query.statuses)
        and (query.parent_id is None or summary.parent_id == query.parent_id)
        and (query.archived is None or summary.archived == query.archived)
    )
