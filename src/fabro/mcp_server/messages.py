"""A line to a JSON-RPC message, or to the answer that refuses it. Above: stdio. Below: the SDK's message types.

The SDK's own reader drops what it can't parse, and the sender waits in vain; here everything that looks like a
request is answered. An answer carries an id only when that very line held it. Source: known fault S-14.
"""

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError
from pydantic_core import from_json

Id: TypeAlias = "str | int | None"
_BOM = b"\xef\xbb\xbf"
_Object: TypeAlias = "dict[str, object]"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that is no message, and what to answer."""

    answer: JSONRPCError


def read_message(line: bytes) -> JSONRPCMessage | Refusal | None:
    """The message on a line, or why it is none; None for a blank line."""
    content = line.removeprefix(_BOM).strip()
    if not content:
        return None
    try:
        data: object = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        return refusal(_id_in_bad_json(content), PARSE_ERROR, f"not valid JSON: {error}")
    if isinstance(data, list):
        return refusal(None, INVALID_REQUEST, "batches are not supported; send one message on each line")
    if not isinstance(data, dict):
        return refusal(None, INVALID_REQUEST, "a message must be a JSON object")
    return _classify(cast("_Object", data))


def refusal(request_id: Id, code: int, reason: str) -> Refusal:
    """A refusal; `request_id` is None where the line held none that can be answered."""
    return Refusal(JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=reason)))


def _classify(data: _Object) -> JSONRPCMessage | Refusal:
    request_id = _id_of(data)
    if data.get("jsonrpc") != "2.0":
        return refusal(request_id, INVALID_REQUEST, '`jsonrpc` must be "2.0"')
    if "method" in data:
        return _call(data, request_id)
    if "result" in data or "error" in data:
        return _response(data)
    return refusal(request_id, INVALID_REQUEST, "a message needs `method`, or `result` or `error`")


def _call(data: _Object, request_id: Id) -> JSONRPCMessage | Refusal:
    method, params = data["method"], data.get("params")
    if not isinstance(method, str):
        return refusal(request_id, INVALID_REQUEST, "`method` must be a string")
    if "id" in data and request_id is None:
        return refusal(None, INVALID_REQUEST, "`id` must be a string or a whole number")
    if params is not None and not isinstance(params, dict):
        return refusal(request_id, INVALID_PARAMS, "`params` must be an object")
    named: dict[Literal["params"], object] = {} if params is None else {"params": params}
    if request_id is None:
        return JSONRPCNotification.model_validate({"jsonrpc": "2.0", "method": method, **named})
    return JSONRPCRequest.model_validate({"jsonrpc": "2.0", "id": request_id, "method": method, **named})


def _response(data: _Object) -> JSONRPCMessage | Refusal:
    kind = JSONRPCResponse if "result" in data else JSONRPCError
    try:
        return kind.model_validate(data, by_name=False)
    except ValidationError:
        return refusal(None, INVALID_REQUEST, "this is neither a request nor a response")


def _id_of(data: _Object) -> Id:
    found = data.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _id_in_bad_json(content: bytes) -> Id:
    """The id of a message that a more lenient reader can parse, such as one with half a surrogate pair."""
    try:
        data: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    found = _id_of(cast("_Object", data)) if isinstance(data, dict) else None
    return found if isinstance(found, int) or (found is not None and found.isprintable()) else None
