"""From JSON to facts. Above: the client's calls, the server's description of itself. Below: pydantic.

Fields that this version does not know are ignored, so that a newer server can be talked to.
"""

from collections import abc
from functools import cache
from typing import TypeVar

import pydantic
from pydantic import TypeAdapter

from fabro import installed_version
from fabro.errors import Unavailable

_NAMES = (pydantic.JsonValue, abc.Mapping, abc.Sequence)
_T = TypeVar("_T")


@cache
def adapter(kind: type[_T]) -> TypeAdapter[_T]:
    """The reader of a dataclass, made when it is first needed.

    `JsonValue`, being recursive, is replaced by pydantic's own: it finds the names of annotations in this frame.
    """
    JsonValue, Mapping, Sequence = _NAMES  # noqa: N806, RUF059 # pyright: ignore[reportUnusedVariable]
    return TypeAdapter(kind)


def decode(kind: type[_T], content: bytes, *, server_version: str) -> _T:
    """The fact that a server sent.

    Raises:
        Unavailable: `version_mismatch`: it has another form than this version expects.
    """
    try:
        return adapter(kind).validate_json(content)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        own = installed_version()
        raise Unavailable(
            f"the server (version {server_version or 'unknown'}) answered in a form that this client (version "
            f"{own}) does not understand: {place or 'the answer'}: {first['msg']}",
            code="version_mismatch",
            hint="Restart the server: `fabro server restart`; where it runs elsewhere, install the same version.",
        ) from error
