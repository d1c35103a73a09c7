"""A sandbox that runs nothing and plays what it was told. Above: tests of engines, handlers and agents. Below: the
sandbox's port.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from fabro.ids import RunId
from fabro.run.target import Target
from fabro.sandbox.port import CommandRequest, CommandResult, SandboxError

HANGS: Final = "hangs"
"""In a script: a command that never ends by itself. It ends when it is cancelled or its time is up."""
Play: TypeAlias = "CommandResult | SandboxError | Literal['hangs']"


def exited(output: str = "", *, exit_code: int = 0) -> CommandResult:
    """A command that ended by itself after a millisecond."""
    size = len(output.encode())
    return CommandResult(termination="exited", exit_code=exit_code, duration_ms=1, output=output, output_bytes=size)


def signaled(number: int) -> CommandResult:
    """A command that a signal ended."""
    return CommandResult(termination="signaled", exit_code=128 + number, duration_ms=1)


def not_started(reason: str) -> CommandResult:
    """A command that could not be started."""
    return CommandResult(termination="not_started", output=reason)


class ScriptedSandbox:
    """Implements `fabro.sandbox.port.Sandbox`. Each command takes the script's next entry.

    An entry is a result, an error to raise, or `HANGS`. A command too many raises `SandboxError`
    (`script_exhausted`). `requests` holds what was run, in order; `cancelled` counts commands cut off.
    """

    def __init__(self, script: Iterable[Play] = (), *, working_directory: str = "/workspace") -> None:
        self._script = deque(script)
        self._directory = working_directory
        self.requests: list[CommandRequest] = []
        self.cancelled = 0
        self.running = 0
        """Commands that hang now."""

    @property
    def working_directory(self) -> str:
        """The path that was given; there is no such folder."""
        return self._directory

    async def run(self, request: CommandRequest, *, stop: anyio.Event | None = None) -> CommandResult:
        """Play the next entry."""
        await checkpoint()
        if stop is not None and stop.is_set():
            return CommandResult(termination="cancelled")
        self.requests.append(request)
        if not self._script:
            raise SandboxError(f"the script has no entry for {request.argv!r}", code="script_exhausted")
        play = self._script.popleft()
        if isinstance(play, SandboxError):
            raise play
        return await self._hang(request, stop or anyio.Event()) if play == HANGS else play

    async def _hang(self, request: CommandRequest, stop: anyio.Event) -> CommandResult:
        self.running += 1
        try:
            with anyio.move_on_after(request.timeout.total_seconds()):
                await stop.wait()
                return CommandResult(termination="cancelled")
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return CommandResult(termination="timed_out", duration_ms=round(request.timeout.total_seconds() * 1000))


class ScriptedProvider:
    """Implements `fabro.sandbox.port.Provider`: every run gets the same sandbox.

    `prepared` and `released` hold who asked.
    """

    def __init__(self, sandbox: ScriptedSandbox) -> None:
        self.sandbox = sandbox
        self.prepared: list[tuple[RunId, Target]] = []
        self.released: list[RunId] = []

    async def prepare(self, run_id: RunId, target: Target) -> ScriptedSandbox:
        """The one sandbox."""
        await checkpoint()
        self.prepared.append((run_id, target))
        return self.sandbox

    async def release(self, run_id: RunId) -> None:
        """Nothing runs; remember who asked."""
        await checkpoint()
        self.released.append(run_id)
