"""Standard streams that never fail on a character, and that are there. Above: main. Below: nothing."""

import io
import os
import sys
from collections.abc import Mapping


def prepare_streams(environment: Mapping[str, str]) -> None:
    """Make output robust: a closed stream swallows, a character that the encoding lacks is written as an escape.

    In the C locale that is everything beyond ASCII, although Python itself would write UTF-8 there.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as the process
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as above
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    encoding = "ascii" if locale in ("C", "POSIX") else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def stdin_is_terminal() -> bool:
    """Whether somebody can type here."""
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - may be closed
