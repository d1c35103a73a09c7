"""From "it is committed" to those who wait for it. Above: stores notify, the feed watches. Below: ids.

A watch is registered before its holder reads the store, so that nothing between reading and waiting is missed.
"""

from collections.abc import Collection, Generator
from contextlib import contextmanager

import anyio

from fabro.ids import RunId


class Watch:
    """Somebody's interest in the commits of some runs."""

    def __init__(self) -> None:
        self._news = anyio.Event()

    def notify(self) -> None:
        """Wake the holder, now or at its next `changed`."""
        self._news.set()

    async def changed(self) -> None:
        """Return once there has been a commit since the last return (or since the watch began)."""
        await self._news.wait()
        self._news = anyio.Event()


class Commits:
    """Tells watches about commits. It holds nothing for runs that nobody watches."""

    def __init__(self) -> None:
        self._of_run: dict[RunId, set[Watch]] = {}

    def notify(self, run_id: RunId) -> None:
        """Say that the run's log has grown and is durable. Called on the event loop."""
        for watch in self._of_run.get(run_id, ()):
            watch.notify()

    @contextmanager
    def watch(self, run_ids: Collection[RunId]) -> Generator[Watch]:
        """A watch on the given runs for the length of a `with` block."""
        watch = Watch()
        for run_id in run_ids:
            self._of_run.setdefault(run_id, set()).add(watch)
        try:
            yield watch
        finally:
            for run_id in set(run_ids):
                watches = self._of_run[run_id]
                watches.discard(watch)
                if not watches:
                    del self._of_run[run_id]
