"""What a place where commands run promises. Above: handlers, the agent's shell. Below: the run's facts.

Implementations: `local` beside this module and `fabro.testing.scripted_sandbox`. One conformance suite holds for
every sandbox that runs real processes (tests/sandbox/test_conformance.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import anyio

from fabro.errors import FabroError
from fabro.ids import RunId
from fabro.run.stage_events import Termination
from fabro.run.target import Target

INLINE_BYTES = 16 * 1024
"""Output up to this size is shown whole."""


class SandboxError(FabroError):
    """The place where a run's commands should run can't be made or reached; the commands are not to blame."""

    default_code = "sandbox_error"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandRequest:
    """One command to run.

    `argv` goes to the system as it stands, without a shell. `environment` is laid over the sandbox's base
    environment; an empty value is passed as empty. `stdin` is what the command can read; None is the null device.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: timedelta
    stdin: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """How a command ended and what it said.

    - `exit_code` is never negative. Ended by signal n: `termination` is `signaled` and `exit_code` 128 + n. It is
      None for `timed_out`, `cancelled` and `not_started`.
    - `output` is standard output and error in the order in which they were written, as UTF-8 with U+FFFD for
      what is none and U+2400 for NUL; control sequences stay. Up to 16 KiB it is everything; otherwise it is the
      first and the last 8 KiB, cut between characters, and a line between them that says how many bytes are
      missing. For `not_started` it is the reason, in words.
    - `output_bytes` is how many bytes the command really wrote.
    - `spool` is a file with those bytes, up to the first 64 MiB, where `output` does not hold them as they came;
      None as well when the disk did not take them. Whoever has the result owns the file.
    """

    termination: Termination
    exit_code: int | None = None
    duration_ms: int = 0
    output: str = ""
    output_bytes: int = 0
    spool: Path | None = None

    @property
    def has_more(self) -> bool:
        """Whether the command wrote more than `output` shows."""
        return self.output_bytes > INLINE_BYTES

    def discard(self) -> None:
        """Delete `spool`, if there is one. May be called twice."""
        if self.spool is not None:
            self.spool.unlink(missing_ok=True)


class Sandbox(Protocol):
    """One run's place. Commands may overlap."""

    @property
    def working_directory(self) -> str:
        """The absolute path of the folder in which commands start, as the commands see it."""
        ...

    async def run(self, request: CommandRequest, *, stop: anyio.Event | None = None) -> CommandResult:
        """Run one command to its end.

        - Whatever the command does comes back as a result, failing to start included; nothing is raised for it.
        - Its output never blocks it, and takes bounded memory.
        - When it has ended, so have the processes that it left in its group; one that left the group but holds
          the output open is ended half a second later.
        - At `request.timeout` the command and all that it started are ended: politely, and after two seconds
          by force.
        - Once `stop` is set they are ended in the same way, and the result is `cancelled` with the output so far.
          Nothing starts when it is set already.
        - Cancelling the calling scope ends them in the same way, before the cancellation goes on. Nothing starts
          after a cancellation.
        """
        ...


class Provider(Protocol):
    """Makes places for runs."""

    async def prepare(self, run_id: RunId, target: Target) -> Sandbox:
        """The run's place. The same run gets the same working directory again, with what it left there.

        Raises:
            InvalidInput: the run id or the target breaks a rule.
            SandboxError: the place can't be made, or a folder that was there is gone.
        """
        ...

    async def release(self, run_id: RunId) -> None:
        """The run has ended: whatever its commands left running is ended too. What they wrote stays."""
        ...
