"""Events over HTTP. Above: the calls. Below: requests, streams."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fabro.calls import EventPage, EventQuery
from fabro.client.decode import decode
from fabro.client.http import VERSION_HEADER, Http
from fabro.client.paths import run_path
from fabro.client.patience import Patience
from fabro.client.shapes import EventList
from fabro.client.sse import frames
from fabro.clock import Clock
from fabro.errors import Unavailable
from fabro.ids import RunId
from fabro.projections.envelope import EventEnvelope

SILENT_SECONDS = 60.0
"""How long a stream may be silent; the server sends a sign of life every 15 s."""


class HttpEvents:
    """Implements `fabro.calls.EventCalls` over HTTP."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self._http = http
        self._clock = clock

    async def list(self, run_id: RunId, query: EventQuery) -> EventPage:
        """A page of a run's events."""
        params: dict[str, str | int] = {"order": query.order, "limit": query.limit}
        if query.after is not None:
            params["after"] = query.after
        answer = await self._http.ask("GET", run_path(run_id, "events"), params=params)
        page = answer.read(EventList)
        return EventPage(data=page.data, has_more=page.meta.has_more)

    async def follow(self, run_id: RunId, *, after: int = 0) -> AsyncGenerator[EventEnvelope]:
        """A run's events after a sequence number, then each new one, up to the one that ends the run.

        When the stream breaks it is taken up again behind the last event, for as long as the server is not away
        for more than a minute; a local server that died is started again.
        """
        patience = Patience(self._clock, self._http.revive)
        while True:
            try:
                async with aclosing(self._attach(run_id, after)) as stream:
                    async for envelope in stream:
                        patience.seen()
                        if envelope is None:
                            return
                        if envelope.seq > after:
                            after = envelope.seq
                            yield envelope
                cut = Unavailable("the server ended the stream before the run", code="server_stopping")
            except Unavailable as error:
                cut = error
            await patience.endure(cut)

    async def _attach(self, run_id: RunId, after: int) -> AsyncGenerator[EventEnvelope | None]:
        """One stream; None stands for its proper end."""
        headers = {"last-event-id": str(after), "accept": "text/event-stream"}
        path = run_path(run_id, "attach")
        async with self._http.stream(path, headers=headers, seconds=SILENT_SECONDS) as response:
            version = response.headers.get(VERSION_HEADER, "")
            async with aclosing(frames(response.aiter_bytes())) as stream:
                async for frame in stream:
                    if frame.event == "end":
                        yield None
                        return
                    yield decode(EventEnvelope, frame.data, server_version=version)
