"""Edge labels as people type them: accelerator keys and comparison. Above: human gates, routing, rules.

Source: reference/engine.md §4 (normalising) and §7 (keys); duplicates get distinct keys (design §4.8).
"""

import re
from collections.abc import Sequence

_KEYED = re.compile(r"\s*(?:\[([^\]]+)\]|([A-Za-z0-9]{1,3})\)|([A-Za-z0-9]{1,3}) - )")
_KEYS = (re.compile(r"\[[^\]]*\]\s*"), re.compile(r".\)"), re.compile(r". - "))


def normal_label(label: str) -> str:
    """A label for comparison: trimmed, lower case, without its accelerator."""
    text = label.strip().lower()
    for pattern in _KEYS:
        match = pattern.match(text)
        if match:
            return text[match.end() :].strip()
    return text


def accelerator(label: str) -> str:
    """The key in a label: `[Y] Yes`, `Y) Yes` and `Y - Yes` give `Y`, any other label its first character.

    Source: reference/engine.md §7. An empty label gives "".
    """
    keyed = _KEYED.match(label)
    if keyed:
        return next(group for group in keyed.groups() if group)
    return label.strip()[:1]


def distinct_keys(labels: Sequence[str]) -> tuple[str, ...]:
    """A key for each label, in order; the second of two equal ones (ignoring case) gets a number behind it."""
    keys: list[str] = []
    taken: set[str] = set()
    for label in labels:
        wanted = key = accelerator(label)
        number = 2
        while key.casefold() in taken:
            key = f"{wanted}{number}"
            number += 1
        taken.add(key.casefold())
        keys.append(key)
    return tuple(keys)
