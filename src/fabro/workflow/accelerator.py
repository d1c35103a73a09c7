"""The short keys of a human gate's options. Above: rules, the human handler. Below: nothing."""

import re

_KEYED = re.compile(r"\s*(?:\[([^\]]+)\]|([A-Za-z0-9]{1,3})\)|([A-Za-z0-9]{1,3}) - )")


def accelerator(label: str) -> str:
    """The key in a label: `[Y] Yes`, `Y) Yes` and `Y - Yes` give `Y`, any other label its first character.

    Source: reference/engine.md §7. An empty label gives "".
    """
    keyed = _KEYED.match(label)
    if keyed:
        return next(group for group in keyed.groups() if group)
    return label.strip()[:1]
