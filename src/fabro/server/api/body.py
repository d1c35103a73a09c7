"""JSON bodies, read strictly, and JSON answers. Above: the routers. Below: pydantic.

What a caller misspells or sends twice is refused by name instead of being ignored (reference/mcp-server.md §3).
"""

import json
from http import HTTPStatus
from typing import NoReturn, TypeVar

import pydantic
from pydantic import TypeAdapter
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from fabro.errors import InvalidInput

SHOWN = 80
"""Characters of a wrong value that an error shows."""

_T = TypeVar("_T")


class Body(pydantic.BaseModel, extra="forbid", strict=True):
    """A request's body: no field more, no type bent."""


class RepeatedFieldError(ValueError):
    """An object names a field twice."""


async def read_body(request: Request, kind: TypeAdapter[_T], *, code: str = "invalid_request") -> _T:
    """The request's body as what the adapter reads.

    Raises:
        InvalidInput: `invalid_json`, or `code` for a field that is unknown, missing, repeated or of a wrong type.
        TooLarge: it is over the limit.
    """
    try:
        value = json_value(await request.body())
        return kind.validate_python(value)
    except pydantic.ValidationError as error:
        raise InvalidInput(_explained(error), code=code) from None
    except RepeatedFieldError as error:
        raise InvalidInput(str(error), code=code) from None


def json_value(content: bytes) -> object:
    """Any JSON value.

    Raises:
        InvalidInput: `invalid_json`: no JSON, NaN or an infinity, too deep, or text that UTF-8 can't hold.
        RepeatedFieldError: an object names a field twice.
    """
    try:
        value: object = json.loads(content, object_pairs_hook=_without_repeats, parse_constant=_no_number)
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()
    except RepeatedFieldError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is no valid JSON: {_reason(error)}", code="invalid_json") from None
    return value


def json_answer(value: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """A fact as JSON: every field is there, null where it is None; times are RFC 3339 in UTC."""
    return Response(to_json(value, inf_nan_mode="null"), status_code=status.value, media_type="application/json")


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedFieldError(f"field {name!r} is there twice")
        found[name] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _explained(error: pydantic.ValidationError) -> str:
    """The first thing that is wrong, by the field's path."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "missing":
            return f"field {path!r} is missing"
        case "extra_forbidden":
            return f"field {path!r} is unknown"
        case _:
            came = repr(first["input"])
            shown = came if len(came) <= SHOWN else came[: SHOWN - 3] + "..."
            return f"{path or 'the body'}: {first['msg'].lower()}, not {shown}"
