"""Taking standard input and output away from everybody else. Above: the command, stdio. Below: the system.

Only protocol messages may reach a client, so from here on descriptor 1 is standard error and descriptor 0 is empty:
what a library prints, and what a child process inherits, goes there. Source: known fault S-01.
"""

import fcntl
import os
from dataclasses import dataclass

FIRST_FREE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """Private descriptors of what were standard input and output; children do not inherit them."""

    read: int
    write: int


def claim_standard_streams() -> Wire:
    """Move standard input and output of this process out of reach; one that is closed counts as empty."""
    wire = Wire(read=_moved(0, os.O_RDONLY), write=_moved(1, os.O_WRONLY))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nowhere, 1)
    os.close(nowhere)
    return wire


def _moved(fd: int, mode: int) -> int:
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    except OSError:
        opened = os.open(os.devnull, mode)
        moved = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
        os.close(opened)
        return moved
