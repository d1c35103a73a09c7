"""Edge labels as people type them: accelerator keys and comparison. Above: human gates, routing, rules.

Source: reference/engine.md §4 (normalising) and §7 (keys); duplicates get distinct keys (design §4.8).
"""

import re
from collections.abc import Sequence

from fabro.workflow.accelerator import accelerator

_KEYS = (re.compile(r"\[[^\]]*\]\s*"), re.compile(r".\)"), re.compile(r". - "))


def normal_label(label: str) -> str:
    """A label for comparison: trimmed, lower case, without its accelerator."""
    text = label.strip().lower()
    for pattern in _KEYS:
        match = pattern.match(text)
        if match:
            return text[match.end() :].strip()
    return text


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
