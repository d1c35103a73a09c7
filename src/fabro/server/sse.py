"""A run's events as server-sent events. Above: the attach route. Below: operations.

Each frame has the event's number as its id, its name, and one line of JSON. The stream pulls from the run's log, so
a slow reader costs one event of memory and blocks nobody. It ends with `event: end` when the run has ended, and
without it when the server stops: the reader then comes back with `Last-Event-ID`. Source: reference/known-faults.md
A-07.
"""

import re
from contextlib import aclosing

import anyio
from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fabro.calls import EventCalls
from fabro.ids import RunId
from fabro.projections.envelope import EventEnvelope, to_json_object
from fabro.server.backend import Service, gone

HEARTBEAT = b": still here\n\n"
_NAME = re.compile(r"[\w.\-]{1,100}")
_LINE_ENDS = tuple((mark.encode(), f"\\u{ord(mark):04x}".encode()) for mark in "\x85\u2028\u2029")


def frame(envelope: EventEnvelope) -> bytes:
    """One event. Characters that some readers take for the end of a line are escaped in its data."""
    data = to_json(to_json_object(envelope), inf_nan_mode="null")
    for mark, escape in _LINE_ENDS:
        data = data.replace(mark, escape)
    name = envelope.event if _NAME.fullmatch(envelope.event) else "unnamed"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (envelope.seq, name.encode(), data)


class EventStream(Response):
    """The response that follows a run. It ends with the run, with the client, or with the server."""

    media_type = "text/event-stream"

    def __init__(self, service: Service, events: EventCalls, run_id: RunId, *, after: int) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._service = service
        self._events = events
        self._run_id = run_id
        self._after = after
        self._writing = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        del scope
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_when_gone, receive, group.cancel_scope)
            group.start_soon(self._end_when_stopping, group.cancel_scope)
            group.start_soon(self._beat, send)
            await self._follow(send)
            group.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, send: Send) -> None:
        last = self._after
        async with aclosing(self._events.follow(self._run_id, after=last)) as stream:
            async for envelope in stream:
                last = envelope.seq
                await self._write(send, frame(envelope))
        await self._write(send, b'event: end\ndata: {"last_seq":%d}\n\n' % last)

    async def _beat(self, send: Send) -> None:
        while True:
            await self._service.backend.clock.sleep(self._service.heartbeat_seconds)
            await self._write(send, HEARTBEAT)

    async def _write(self, send: Send, chunk: bytes) -> None:
        async with self._writing:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _end_when_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        await gone(receive)
        scope.cancel()

    async def _end_when_stopping(self, scope: anyio.CancelScope) -> None:
        await self._service.stopping.wait()
        scope.cancel()
