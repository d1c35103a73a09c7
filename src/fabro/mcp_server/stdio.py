"""An MCP server on a pair of descriptors. Above: `fabro mcp start`. Below: lines, messages, pipes, the SDK.

The SDK does the protocol; this is its transport. It differs from the SDK's own in what users met with elsewhere:
a line that is no message is answered, requests that were accepted are answered before the end of input ends the
server, one signal ends it, and no thread is needed. Source: known faults S-03, S-04, S-13, S-14.
"""

import logging
import signal
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import INVALID_REQUEST, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, RequestId

from fabro.mcp_server.descriptors import Wire
from fabro.mcp_server.lines import LineSplitter, LineTooLong
from fabro.mcp_server.messages import Refusal, read_message, refusal
from fabro.mcp_server.pipes import Output, read_some
from fabro.race import race

MOST_REQUESTS = 256
"""Requests that may be under way at once."""
TOO_MANY_REQUESTS = -32000
SECONDS_TO_ANSWER = 30.0
"""How long the end of input waits for requests under way: the first may have to start a server, within 20 s."""
SECONDS_TO_READ = 3.0
"""How long the end of input waits for a reader that takes none of its answers."""
SECONDS_TO_WRITE = 1.0
"""How long the end waits for a reader that takes nothing."""

_log = logging.getLogger(__name__)
StateT = TypeVar("StateT")


async def serve_stdio(
    server: Server[StateT], wire: Wire, ending: anyio.Event | None = None, patience: float = SECONDS_TO_ANSWER
) -> None:
    """Serve one client until its input ends, or SIGINT or SIGTERM comes.

    At the end of input what was asked for is answered; a signal ends everything at once.

    Args:
        server: the SDK's server.
        wire: where the client is.
        ending: set at the end of input; None where nothing listens to it.
        patience: seconds within which answers must be there after the end of input.
    """
    output = Output(wire.write)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.run)
        tasks.start_soon(_cancel_on_signal, tasks.cancel_scope)
        pending = _Pending()
        outbox = _Outbox(output, pending)
        close = partial(_answer_the_rest, output, pending, ending or anyio.Event(), patience)
        inbox = _Inbox(wire.read, outbox, pending, close)
        await server.run(inbox, outbox, server.create_initialization_options())
        with anyio.move_on_after(SECONDS_TO_WRITE):
            await output.drain()
        tasks.cancel_scope.cancel()


async def _answer_the_rest(output: Output, pending: "_Pending", ending: anyio.Event, patience: float) -> None:
    """End the waits under way, and wait until everything is answered: for a time, and for a client that reads."""

    async def answer() -> None:
        await pending.all_settled()
        await output.drain()

    ending.set()
    with anyio.move_on_after(patience):
        await race(answer, partial(output.stall, SECONDS_TO_READ))


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            _log.info("ending because of %s", number.name)
            scope.cancel()


class _Pending:
    """The ids of requests that have not been answered."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._settled = anyio.Event()

    def problem(self, request_id: RequestId) -> Refusal | None:
        """Why a request can't be accepted now."""
        if request_id in self._ids:
            return refusal(None, INVALID_REQUEST, f"id {request_id!r} is in use by a request that is under way")
        if len(self._ids) >= MOST_REQUESTS:
            reason = f"{MOST_REQUESTS} requests are under way; wait for an answer before sending more"
            return refusal(request_id, TOO_MANY_REQUESTS, reason)
        return None

    def add(self, request_id: RequestId) -> None:
        """Note a request."""
        self._ids.add(request_id)

    def settle(self, request_id: RequestId | None) -> None:
        """Forget a request that was answered or cancelled."""
        if request_id is not None:
            self._ids.discard(request_id)
        if not self._ids:
            self._settled.set()

    async def all_settled(self) -> None:
        """Wait until no request is under way."""
        while self._ids:
            self._settled = anyio.Event()
            await self._settled.wait()


class _Outbox:
    """What the SDK writes to: one line for each message."""

    def __init__(self, output: Output, pending: _Pending) -> None:
        self._output = output
        self._pending = pending

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message and, if it answers a request, settle that."""
        await self.answer(item.message)

    async def answer(self, message: JSONRPCMessage) -> None:
        """Write a message."""
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            await self._output.send(line)
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._pending.settle(message.id)

    async def aclose(self) -> None:
        """Nothing: the descriptor is not this object's to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _Inbox:
    """What the SDK reads from: messages, as long as there are any."""

    def __init__(self, fd: int, outbox: _Outbox, pending: _Pending, close: Callable[[], Awaitable[None]]) -> None:
        self._fd = fd
        self._outbox = outbox
        self._pending = pending
        self._close = close
        self._splitter = LineSplitter()
        self._lines: deque[bytes | LineTooLong] = deque()
        self._has_ended = False

    async def receive(self) -> SessionMessage:
        """The next message.

        Raises:
            EndOfStream: the input has ended, and what was asked for is answered or has had its time.
        """
        while True:
            while self._lines:
                message = await self._accepted(self._lines.popleft())
                if message is not None:
                    return message
            if self._has_ended:
                await self._close()
                raise anyio.EndOfStream
            await self._read()

    async def _read(self) -> None:
        try:
            data = await read_some(self._fd)
        except OSError as error:
            _log.warning("standard input can't be read any more: %s", error)
            data = b""
        self._has_ended = not data
        self._lines.extend(self._splitter.feed(data) if data else self._splitter.end())

    async def _accepted(self, line: bytes | LineTooLong) -> SessionMessage | None:
        """The message on a line for the SDK; None when the line is blank, or has been answered here."""
        message = refusal(None, INVALID_REQUEST, str(line)) if isinstance(line, LineTooLong) else read_message(line)
        if isinstance(message, JSONRPCRequest):
            message = self._pending.problem(message.id) or message
        if isinstance(message, Refusal):
            await self._refuse(message)
            return None
        if not isinstance(message, JSONRPCRequest):
            return SessionMessage(message) if message is not None else None
        return self._noted(message)

    async def _refuse(self, refused: Refusal) -> None:
        try:
            await self._outbox.answer(refused.answer)
        except anyio.BrokenResourceError:
            self._has_ended = True

    def _noted(self, request: JSONRPCRequest) -> SessionMessage:
        self._pending.add(request.id)

        async def settle() -> None:
            self._pending.settle(request.id)

        return SessionMessage(request, ServerMessageMetadata(on_request_unanswered=settle))

    async def aclose(self) -> None:
        """Nothing: the descriptor is not this object's to close."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
