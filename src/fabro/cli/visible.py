"""Text of runs made safe for a terminal, and times for people. Above: output, progress, commands. Below: nothing.

Whatever a command or a model wrote may hold escape sequences; shown on a terminal, they must not drive it.
"""

import re
from datetime import timedelta

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Controls but tab and newline; what hides, joins or turns text around; lone surrogates."""


def visible(text: str) -> str:
    """The text with everything that a terminal would act on written as an escape; newlines and tabs stay."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """Likewise on one line: runs of white space, newlines among it, become one space."""
    return visible(" ".join(text.split()))


def shorten(text: str, length: int) -> str:
    """At most `length` characters, the cut marked by three dots."""
    return text if len(text) <= length else text[: max(0, length - 3)] + "..."


def duration(span: timedelta) -> str:
    """`0.3s`, `42s`, `3m05s`, `2h03m`, `4d07h`; nothing is negative."""
    seconds = max(0.0, span.total_seconds())
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"


def age(span: timedelta) -> str:
    """One unit: `12s`, `5m`, `3h`, `9d`."""
    whole = max(0, int(span.total_seconds()))
    for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= seconds:
            return f"{whole // seconds}{unit}"
    return f"{whole}s"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
