"""Bodies are bounded while they arrive. Above: the edge. Below: errors."""

from http import HTTPMethod

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from fabro.errors import TooLarge
from fabro.workflow.version import MAX_VERSION_BYTES

VERSIONS_PATH = "/api/v1/workflow-versions"
LARGEST_VERSION_BODY = MAX_VERSION_BYTES + (64 << 10)
"""Somewhat over a version's own limit, so that it is the version that says what is too large."""
LARGEST_BODY = 1 << 20


def limited(scope: Scope, receive: Receive) -> Receive:
    """A `receive` that raises `TooLarge` as soon as the body is, or says that it will be, over its limit."""
    is_version = scope["path"].rstrip("/") == VERSIONS_PATH and scope["method"] == HTTPMethod.POST
    limit = LARGEST_VERSION_BODY if is_version else LARGEST_BODY
    code = "workflow_version_too_large" if is_version else None
    said = Headers(scope=scope).get("content-length", "0")
    announced = int(said) if said.isdecimal() else 0
    arrived = 0

    async def receive_within() -> Message:
        nonlocal arrived
        message = await receive()
        if message["type"] == "http.request":
            arrived += len(message.get("body", b""))
            if max(announced, arrived) > limit:
                raise TooLarge(f"the body is over {limit} bytes, the most that is taken here", code=code)
        return message

    return receive_within
