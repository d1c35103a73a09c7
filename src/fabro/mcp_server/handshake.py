"""What the SDK leaves vague in a conversation, said clearly. Above: the server. Below: the SDK.

Source: known fault S-08: a request before `initialize` and a second `initialize` are refused with a reason, and bad
parameters with the field that is wrong.
"""

from typing import TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

WITHOUT_HANDSHAKE = frozenset({"initialize", "ping", "server/discover"})
StateT = TypeVar("StateT")


async def check_handshake(ctx: ServerRequestContext[StateT], call_next: CallNext) -> HandlerResult:
    """Let a message pass, or refuse it with a reason.

    Raises:
        MCPError: the request came too early, is a second handshake, or has bad parameters.
    """
    if ctx.request_id is None:
        return await call_next(ctx)
    is_greeted = ctx.session.client_params is not None
    if ctx.method == "initialize" and is_greeted:
        raise MCPError(code=INVALID_REQUEST, message="this connection is initialized already")
    try:
        return await call_next(ctx)
    except ValidationError as error:
        raise MCPError(code=INVALID_PARAMS, message=f"invalid parameters: {_first(error)}") from error
    except MCPError as error:
        if error.error.code == INVALID_PARAMS and not is_greeted and _needs_handshake(ctx):
            message = f"{ctx.method}: not initialized; send `initialize` first, then the request again"
            raise MCPError(code=INVALID_REQUEST, message=message) from error
        raise


def _needs_handshake(context: ServerRequestContext[StateT]) -> bool:
    return context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS and context.method not in WITHOUT_HANDSHAKE


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
