"""The only source of time. Above: everything. Below: nothing.

Wall time is for people and for deadlines that outlive the process; monotonic time is for measuring.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Clock(Protocol):
    """Time as the system sees it. `fabro.testing.FakeClock` is the second implementation."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this clock's monotonic time; at once for zero or less."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of the operating system's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the event loop."""
        await anyio.sleep(max(0.0, seconds))


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970 in UTC, as times are stored."""
    return (moment - _EPOCH) // _MILLISECOND


def from_millis(millis: int) -> datetime:
    """The inverse of `to_millis`: an aware time in UTC."""
    return _EPOCH + millis * _MILLISECOND


def to_text(moment: datetime) -> str:
    """RFC 3339 with milliseconds and `Z`, as times are shown to programs."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
