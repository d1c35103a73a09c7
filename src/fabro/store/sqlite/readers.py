"""Reads on threads of their own, so that neither the writer nor the event loop waits for them. Above: the store.
Below: connections.
"""

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from fabro.store.refusals import closed
from fabro.store.sqlite.connection import connect, told_as_storage_errors

CONNECTIONS = 4
"""Reads at the same time."""

_T = TypeVar("_T")


class Readers:
    """A few connections that see what is committed and can't write. They are opened when first needed."""

    def __init__(self, path: Path, busy_timeout: timedelta) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._idle: list[sqlite3.Connection] = []
        self._turns = anyio.CapacityLimiter(CONNECTIONS)
        self._threads = anyio.CapacityLimiter(CONNECTIONS)
        self._is_open = True

    async def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `work` finds, on a thread.

        Raises:
            StorageError: SQLite could not read, or the readers are closed.
            Exception: whatever else `work` raised.
        """
        async with self._turns:
            if not self._is_open:
                raise closed()
            connection = self._idle.pop() if self._idle else await self._on_thread(self._connect)
            try:
                return await self._on_thread(partial(work, connection))
            finally:
                self._idle.append(connection)

    async def close(self) -> None:
        """Let the reads that go on end, and close the connections."""
        self._is_open = False
        turns = [object() for _ in range(CONNECTIONS)]
        with anyio.CancelScope(shield=True):
            for turn in turns:
                await self._turns.acquire_on_behalf_of(turn)
        while self._idle:
            self._idle.pop().close()
        for turn in turns:
            self._turns.release_on_behalf_of(turn)

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        with told_as_storage_errors(self._path):
            return await anyio.to_thread.run_sync(work, limiter=self._threads)

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path, busy_timeout=self._busy_timeout, read_only=True)
