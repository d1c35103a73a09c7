"""Commands: a script in a shell or in Python. Above: assembly. Below: the sandbox, blobs.

Source: reference/engine.md §2 (command); design §4.5: a command fails by exit status, signal or timeout, and its
output never decides a failure's category.
"""

import json
from dataclasses import replace
from datetime import timedelta

import anyio
import structlog

from fabro.engine.handler import Effect, Plan, Rerun, Result, StageCall
from fabro.errors import InvalidInput, StorageError
from fabro.handlers.simulate import simulated_command
from fabro.ids import BlobId
from fabro.run.context import BlobRef
from fabro.run.events import CommandCompleted, CommandStarted, Event, RunNotice
from fabro.run.outcome import FailureCategory, Outcome, failed, succeeded
from fabro.run.state import Inside
from fabro.sandbox.port import CommandRequest, CommandResult
from fabro.store.blobs import Blobs

DEFAULT_TIMEOUT = timedelta(minutes=10)
SCRIPT_SHOWN = 1000
"""Characters of a script that its event holds."""
STDIN_LIMIT = 30 << 20
"""Bytes that `stdin_source` may give a command."""
LAST_LINE_SHOWN = 200

_logger = structlog.get_logger(__name__)
_INTERPRETERS = {"shell": ("bash", "-c"), "python": ("python3", "-c")}


class CommandHandler:
    """Runs a node's script in the run's sandbox."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def begin(self, call: StageCall) -> Plan:
        """Announce the command; the effect runs it.

        Raises:
            InvalidInput: the script is missing or the language is none that is known.
        """
        if call.is_dry_run:
            return simulated_command()
        script = call.node.text("script") or ""
        language = call.node.text("language") or "shell"
        if not script.strip():
            raise InvalidInput(f"command {call.node.id!r} has no script")
        if language not in _INTERPRETERS:
            raise InvalidInput(f"command {call.node.id!r}: language is {language!r}; wanted shell or python")
        timeout = call.node.duration("timeout") or DEFAULT_TIMEOUT
        stdin = self._stdin_of(call)
        started = CommandStarted(
            stage_id=call.stage_id,
            script=script[:SCRIPT_SHOWN],
            language=language,
            timeout_ms=int(timeout.total_seconds() * 1000),
        )
        request = CommandRequest(
            argv=(*_INTERPRETERS[language], script), environment=_environment(call), timeout=timeout
        )

        async def run(stop: anyio.Event) -> Result:
            given = await self._read(stdin)
            sandbox = await call.open_sandbox()
            ended = await sandbox.run(_with_stdin(request, given), stop=stop)
            blob = await self._keep_whole(ended)
            events: tuple[Event, ...] = (_completed(call, ended, blob),)
            if blob is None and ended.has_more:
                events = (*events, _not_kept(call))
            return Result(outcome=_outcome(ended, timeout), events=events)

        return Effect(run=run, events=(started,), owns_timeout=True)

    def resume(self, call: StageCall, inside: Inside) -> Rerun:
        """A command that was cut off runs again, as a new stage."""
        del call, inside
        return Rerun()

    def _stdin_of(self, call: StageCall) -> str | bytes | BlobRef | None:
        key = call.node.text("stdin_source")
        if key is None:
            return None
        context = call.state.context
        value = context.get(key, context.get(key.removeprefix("context.")))
        if value is None:
            raise InvalidInput(f"command {call.node.id!r}: stdin_source {key!r} is not in the context")
        if isinstance(value, BlobRef | str):
            return value
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    async def _read(self, source: str | bytes | BlobRef | None) -> bytes | None:
        content = await self._blobs.get(source.blob) if isinstance(source, BlobRef) else source
        content = content.encode() if isinstance(content, str) else content
        if content is not None and len(content) > STDIN_LIMIT:
            raise InvalidInput(f"stdin_source gives {len(content)} bytes; the limit is {STDIN_LIMIT}")
        return content

    async def _keep_whole(self, ended: CommandResult) -> BlobId | None:
        """The blob of the whole output, None where head and tail have to do: a full disk fails no command."""
        if ended.spool is None:
            return None
        try:
            return await self._blobs.put_file(ended.spool)
        except StorageError as error:
            _logger.warning("a command's whole output can't be kept", error=error.message)
            return None
        finally:
            ended.discard()


def _not_kept(call: StageCall) -> RunNotice:
    message = f"the whole output of {call.stage_id} could not be kept; its head and tail are in the log"
    return RunNotice(level="warn", code="output_not_kept", message=message)


def _with_stdin(request: CommandRequest, stdin: bytes | None) -> CommandRequest:
    return request if stdin is None else replace(request, stdin=stdin)


def _environment(call: StageCall) -> dict[str, str]:
    """What a script can know of where it runs."""
    return {
        "FABRO_RUN_ID": call.state.run_id,
        "FABRO_STAGE_ID": call.stage_id,
        "FABRO_NODE_ID": call.node.id,
    }


def _completed(call: StageCall, ended: CommandResult, blob: BlobId | None) -> CommandCompleted:
    return CommandCompleted(
        stage_id=call.stage_id,
        termination=ended.termination,
        exit_code=ended.exit_code,
        duration_ms=ended.duration_ms,
        output=ended.output,
        output_bytes=ended.output_bytes,
        output_blob=blob,
    )


def _outcome(ended: CommandResult, timeout: timedelta) -> Outcome:
    match ended.termination:
        case "exited" if ended.exit_code == 0:
            return succeeded()
        case "exited":
            return failed(f"the script ended with exit code {ended.exit_code}{_last_line(ended.output)}")
        case "signaled":
            return failed(
                f"the script was ended by signal {(ended.exit_code or 128) - 128}{_last_line(ended.output)}"
            )
        case "timed_out":
            return failed(
                f"the script timed out after {timeout.total_seconds():g} s",
                category=FailureCategory.TRANSIENT_INFRA,
            )
        case "cancelled":
            return failed("cancelled", category=FailureCategory.CANCELED)
        case "not_started":
            return failed(f"the script could not be started: {ended.output}")


def _last_line(output: str) -> str:
    lines = output.rstrip().rsplit("\n", 1)
    last = lines[-1].strip()
    return f": {last[:LAST_LINE_SHOWN]}" if last else ""
