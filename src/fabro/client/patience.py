"""How long a wait or a stream puts up with a server that is away. Above: the calls. Below: the clock."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from fabro.clock import Clock
from fabro.errors import FabroError, Unavailable

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0)
"""Seconds between tries, the last of which repeats."""
ENDURED_SECONDS = 60.0
"""How long a server may be away before that is an error."""
_AWAY = frozenset({"server_unreachable", "server_stopping"})


class Patience:
    """Counts how long the server has been away; any sign of it begins the count anew.

    `revive` brings back a local server that died. One that said that it stops is left as it is: somebody wanted it.
    """

    def __init__(self, clock: Clock, revive: Callable[[], Awaitable[object]]) -> None:
        self._clock = clock
        self._revive = revive
        self._is_stopping = False
        self._since: float | None = None
        self._tries = 0

    def seen(self) -> None:
        """The server is there."""
        self._since = None
        self._tries = 0
        self._is_stopping = False

    async def endure(self, error: FabroError) -> None:
        """Wait a little for a server that is away.

        Raises:
            FabroError: the given error, when it is another one, or the server has been away for too long.
        """
        if not isinstance(error, Unavailable) or error.code not in _AWAY:
            raise error
        now = self._clock.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= ENDURED_SECONDS:
            raise error
        pause = PAUSES[min(self._tries, len(PAUSES) - 1)]
        self._tries += 1
        await self._clock.sleep(pause)
        self._is_stopping = self._is_stopping or error.code == "server_stopping"
        if not self._is_stopping:
            await self._bring_back()

    async def _bring_back(self) -> None:
        """Start the server again; where that fails, the next try at what was wanted says that it is away."""
        with suppress(FabroError):
            await self._revive()
