"""Commands on the server's own machine, as the server's own user, without isolation. Above: assembly. Below:
`child`, `output`, `environment`, `keeper`.

Layout: `RUNS/<run id>/workspace` is the folder of a run without a target, `RUNS/<run id>/output` holds the whole
output of commands that wrote much.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, assert_never

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from anyio.to_thread import run_sync

from fabro.errors import InvalidInput
from fabro.ids import RunId, is_run_id
from fabro.race import race
from fabro.run.stage_events import Termination
from fabro.run.target import FolderTarget, NoTarget, Target
from fabro.sandbox.child import Child, explain
from fabro.sandbox.environment import base_environment
from fabro.sandbox.keeper import Keeper
from fabro.sandbox.keeper_main import OWNER_VARIABLE
from fabro.sandbox.output import Output
from fabro.sandbox.port import CommandRequest, CommandResult, SandboxError

DRAIN_SECONDS = 0.5
"""How long the output is read on when the command has ended and something else holds it open."""


class LocalSandbox:
    """One run's folder and the commands in it. Made by `LocalProvider`."""

    def __init__(
        self,
        run_id: RunId,
        workspace: Path,
        spools: Path,
        base: Mapping[str, str],
        keeper: Keeper,
        *,
        used: set[RunId],
    ) -> None:
        self._run_id = run_id
        self._used = used
        self._workspace = str(workspace)
        self._spools = spools
        self._base = base
        self._keeper = keeper

    @property
    def working_directory(self) -> str:
        """The folder's absolute path."""
        return self._workspace

    async def run(self, request: CommandRequest, *, stop: anyio.Event | None = None) -> CommandResult:
        """See `Sandbox.run`."""
        await checkpoint_if_cancelled()
        if stop is not None and stop.is_set():
            return CommandResult(termination="cancelled")
        began = anyio.current_time()
        marker = self._keeper.new_marker(self._run_id)
        self._used.add(self._run_id)
        environment = {**self._base, **request.environment, OWNER_VARIABLE: marker}
        with Output(self._spools / f"{marker.replace('/', '-')}.out") as output:
            try:
                self._keeper.ensure()
                child = Child(
                    request.argv,
                    cwd=self._workspace,
                    environment=environment,
                    stdin=request.stdin,
                    take=output.add,
                )
            except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
                reason = explain(error, request.argv, cwd=self._workspace, path=environment["PATH"])
                return CommandResult(termination="not_started", output=reason, duration_ms=_millis_since(began))
            cut = await self._follow(child, marker, request.timeout.total_seconds(), stop)
            output.settle()
            return CommandResult(
                termination=cut or _termination(child),
                exit_code=None if cut else child.exit_code,
                duration_ms=_millis_since(began),
                output=output.text(),
                output_bytes=output.size,
                spool=output.spool,
            )

    async def _follow(
        self, child: Child, marker: str, seconds: float, stop: anyio.Event | None
    ) -> Literal["timed_out", "cancelled"] | None:
        """Wait for the command's end or make it end; what cut it off, None if it ended by itself."""
        by_itself = False
        try:
            self._keeper.begin(child.group)
            with anyio.move_on_after(seconds):
                await (child.exited.wait() if stop is None else race(child.exited.wait, stop.wait))
            by_itself = child.exited.is_set()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(child, marker, everything=not by_itself)
        if by_itself:
            return None
        return "cancelled" if stop is not None and stop.is_set() else "timed_out"

    async def _end(self, child: Child, marker: str, *, everything: bool) -> None:
        """Bounded: at most 4 s for the group, half a second for the output and 4 s for who holds that open."""
        clean = False
        try:
            if everything:
                await self._keeper.sweep(marker=marker, group=child.group)
                await _wait_briefly(child.exited)
            elif child.left_somebody:
                await self._keeper.sweep(group=child.group)
            if not await _wait_briefly(child.output.ended):
                await self._keeper.sweep(marker=marker)
            clean = True
        finally:
            if not clean:
                child.kill()
            child.close()
            self._keeper.end(child.group)


class LocalProvider:
    """Places on this machine.

    Args:
        runs_folder: holds a folder for each run.
        keeper: ends the commands when this process can't.
        environment: the server's own; commands get what `base_environment` takes from it.
    """

    def __init__(self, runs_folder: Path, keeper: Keeper, *, environment: Mapping[str, str]) -> None:
        self._runs_folder = runs_folder
        self._keeper = keeper
        self._base = base_environment(environment)
        self._used: set[RunId] = set()

    async def prepare(self, run_id: RunId, target: Target) -> LocalSandbox:
        """See `Provider.prepare`. A folder target is the folder itself; without a target the folder starts empty.

        What an earlier server process left of its commands' output is removed.
        """
        if not is_run_id(run_id):
            raise InvalidInput(f"run id is {run_id!r}; wanted 26 characters of a ULID")
        return await run_sync(self._make, run_id, target)

    async def release(self, run_id: RunId) -> None:
        """See `Provider.release`. Processes that made a session of their own are found by their marker."""
        if run_id in self._used:
            self._used.discard(run_id)
            await self._keeper.sweep(prefix=f"{self._keeper.owner}/{run_id}/")

    def _make(self, run_id: RunId, target: Target) -> LocalSandbox:
        folder = self._runs_folder.absolute() / run_id
        spools = folder / "output"
        try:
            workspace = _workspace(target, folder)
            spools.mkdir(parents=True, exist_ok=True, mode=0o700)
            for stray in spools.iterdir():
                if not stray.name.startswith(f"{self._keeper.owner}-"):
                    stray.unlink()
        except OSError as error:
            raise SandboxError(f"the folder of run {run_id} can't be made: {error}") from error
        return LocalSandbox(run_id, workspace, spools, self._base, self._keeper, used=self._used)


def _workspace(target: Target, folder: Path) -> Path:
    match target:
        case NoTarget():
            workspace = folder / "workspace"
            workspace.mkdir(parents=True, exist_ok=True)
            return workspace
        case FolderTarget():
            return _existing_folder(target.path)
        case _:
            assert_never(target)


def _existing_folder(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise InvalidInput(f"target.path is {text!r}; wanted an absolute path")
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist any more"
        raise SandboxError(f"target.path {text!r} {what}; wanted the folder in which the run works")
    return path


def _termination(child: Child) -> Termination:
    return "exited" if child.signal_number is None else "signaled"


async def _wait_briefly(event: anyio.Event) -> bool:
    with anyio.move_on_after(DRAIN_SECONDS):
        await event.wait()
    return event.is_set()


def _millis_since(began: float) -> int:
    return round((anyio.current_time() - began) * 1000)
