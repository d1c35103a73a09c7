"""What a dispatcher promises. Above: operations. Below: ids. `local` executes runs in this process."""

from typing import Protocol

from fabro.ids import RunId


class Dispatcher(Protocol):
    """Sees to it that each run which has something to do is driven by exactly one runner."""

    def wake(self, run_id: RunId) -> None:
        """Say that the run's log has grown by something that its runner should know. Never blocks.

        A run that nobody drives is driven (again); whoever drives it already reads the log's news.
        """
        ...
