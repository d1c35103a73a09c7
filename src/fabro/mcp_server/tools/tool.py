"""What a tool is. Above: the single tools, the catalogue, the server. Below: the backend, arguments, schemas.

Source: design §8: annotations, output schemas, structured content and one line of text.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio
from pydantic import BaseModel

from fabro.clock import Clock
from fabro.json_value import JsonObject
from fabro.mcp_server.backend import Backend, Packager
from fabro.mcp_server.tools.arguments import Arguments, decode
from fabro.mcp_server.tools.schema import input_schema, output_schema

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Progress(Protocol):
    """Tells the client that a call is still under way."""

    async def __call__(self, elapsed: float, total: float, message: str, /) -> None:
        """Send seconds so far, seconds at most, and a few words."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Time limits of waits, in seconds.

    `report` is the longest silence of a wait whose client takes progress; `unreported` the longest wait of one
    whose client takes none, as clients commonly give up after a minute without a sign.
    """

    report: float = 10.0
    unreported: float = 50.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What a tool works with during one call. `progress` is None where the client asked for none.

    `packager` is None where workflows can't be packaged. `ending` is set when the client will ask for nothing
    more: whoever only waits comes back then with what there is.
    """

    backend: Backend
    clock: Clock
    packager: Packager | None = None
    progress: Progress | None = None
    pace: Pace = field(default_factory=Pace)
    ending: anyio.Event = field(default_factory=anyio.Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a call gives back: the result for programs, and one line that people can read."""

    result: BaseModel
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Hints:
    """What a client may assume of a tool, in the protocol's terms."""

    reads_only: bool
    destroys: bool = False
    is_idempotent: bool = False
    reaches_out: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool. `call` takes the arguments as they came.

    `call` raises FabroError for arguments that break a rule, before it touches the backend, and for whatever the
    backend refuses.
    """

    name: str
    title: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject
    hints: Hints
    call: Callable[[Session, JsonObject], Awaitable[Answer]]


def define(
    call: Callable[[Session, ArgumentsT], Awaitable[Answer]],
    *,
    name: str,
    title: str,
    description: str,
    takes: type[ArgumentsT],
    gives: type[BaseModel],
    hints: Hints,
) -> Tool:
    """A tool whose arguments are decoded into `takes` before `call` sees them."""

    async def decode_and_call(session: Session, arguments: JsonObject) -> Answer:
        return await call(session, decode(takes, arguments))

    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=input_schema(takes),
        output_schema=output_schema(gives),
        hints=hints,
        call=decode_and_call,
    )
