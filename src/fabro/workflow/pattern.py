"""Regular expressions that take linear time, whatever they are put to. Above: conditions. Below: RE2.

RE2 has the syntax that the published engine's regular expressions have: no look-around and no back-references.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import re2

MAX_PATTERN = 1000
"""Longest regular expression, in characters."""
MAX_MEMORY = 8 << 20
"""Bytes that one compiled expression may take."""


class PatternError(ValueError):
    """The text is no regular expression; the message says why."""


@dataclass(frozen=True)
class Pattern:
    """A regular expression. Two are equal when their texts are; making one compiles it.

    Raises:
        PatternError: it is too long, or none.
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > MAX_PATTERN:
            raise PatternError(f"a regular expression may have {MAX_PATTERN} characters")
        _search(self.text)

    def is_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        return _search(self.text)(_encodable(text)) is not None


@lru_cache(maxsize=512)
def _search(text: str) -> Callable[[str], object | None]:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        return re2.compile(_encodable(text), options).search
    except re2.error as error:
        reason: object = error.args[0]
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(f"not a regular expression: {said}") from None


def _encodable(text: str) -> str:
    """The text with halves of surrogate pairs replaced, which UTF-8 can't hold."""
    return text.encode(errors="replace").decode()
