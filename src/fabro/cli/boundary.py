"""The one place where errors of commands become words and exit codes. Above: main. Below: typer, errors.

Source of the codes: reference/server.md §8, docs/cli.md.
"""

import errno
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import cast

from typer import Abort, Exit
from typer.exceptions import TyperException

from fabro.cli.options import Settings
from fabro.cli.visible import visible
from fabro.clock import SystemClock, to_text
from fabro.config.paths import find_paths
from fabro.errors import FabroError, InvalidInput, Unauthorized

FAILURE = 1
USAGE = 2
SIGN_IN = 4
BLOCKED = 5
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + SIGPIPE, as of a program that the signal ended."""


class Usage(InvalidInput):
    """The command line itself is wrong, beyond what its parser can see (exit code 2)."""

    default_code = "usage"


def guarded(act: Callable[[], None], settings: Settings) -> int:
    """Run a command and return its exit code; whatever goes wrong is said on standard error, in JSON with `--json`.

    Of an internal error one line is shown, with the file that holds the traceback; with `--debug` the traceback.
    """
    try:
        act()
        sys.stdout.flush()
    except Exit as stop:
        return _flushed(stop.exit_code)
    except BaseException as error:  # noqa: BLE001 - the outermost boundary
        return _failed(root_cause(error), settings)
    return 0


def root_cause(error: BaseException) -> BaseException:
    """What a reader wants to know of errors that came in groups: one meant for callers, else the first."""
    leaves = list(_leaves(error))
    meant = (leaf for leaf in leaves if isinstance(leaf, FabroError | KeyboardInterrupt | Exit | BrokenPipeError))
    return next(meant, leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(part)
    else:
        yield error


def _failed(error: BaseException, settings: Settings) -> int:
    match error:
        case Exit():
            return _flushed(error.exit_code)
        case SystemExit(code=int(code)):
            return code
        case KeyboardInterrupt() | Abort():
            return INTERRUPTED
        case BrokenPipeError():
            silence()
            return BROKEN_PIPE
        case Usage():
            code = USAGE
        case Unauthorized():
            code = SIGN_IN
        case TyperException() if error.message.startswith("Usage: "):
            print(error.message, file=sys.stderr)  # a group without a command: typer's error is its help
            return _flushed(error.exit_code)
        case TyperException():
            code = error.exit_code
        case _:
            code = FAILURE
    unparsed = isinstance(error, TyperException | Usage) and settings.json_is_named
    say(explain(error, settings), as_json=settings.json or unparsed)
    if settings.debug and not isinstance(error, TyperException):
        traceback.print_exception(error)
    return _flushed(code)


def explain(error: BaseException, settings: Settings) -> FabroError:
    """The error as one for callers."""
    match error:
        case FabroError():
            return error
        case TyperException():
            return InvalidInput(_plain(error), code="usage", hint=_help_hint(error))
        case OSError(strerror=str(reason)):
            place = f": {error.filename}" if error.filename else ""
            return FabroError(f"{reason}{place}", code="system_error")
        case _:
            told = "" if settings.debug else f" (the traceback is in {_keep(error, settings)})"
            return FabroError(f"internal error: {type(error).__name__}: {error}{told}")


def say(error: FabroError, *, as_json: bool) -> None:
    """Write an error to standard error; one that can't be written is lost."""
    if as_json:
        told = {"code": error.code, "message": error.message, "hint": error.hint}
        text = json.dumps({"error": told | ({"details": error.details} if error.details else {})})
    else:
        text = visible(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""))
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return


def silence() -> None:
    """Send what is buffered for a closed pipe nowhere, so that the interpreter does not complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _flushed(code: int) -> int:
    """The exit code, when what was printed before has arrived."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence()
        if error.errno == errno.EPIPE:
            return BROKEN_PIPE
        say(FabroError(f"standard output can't be written: {error.strerror}", code="write_failed"), as_json=False)
        return code or FAILURE
    return code


def _plain(error: TyperException) -> str:
    """The parser's message, with the nearest option in words."""
    possible: object = getattr(error, "possibilities", None)
    if isinstance(possible, list) and possible:
        nearest = str(possible[0])  # pyright: ignore[reportUnknownArgumentType] - typer says list and no more
        return f"{error.message}. Did you mean {nearest}?"
    return error.format_message()


def _help_hint(error: TyperException) -> str:
    context: object = getattr(error, "ctx", None)
    path: object = getattr(context, "command_path", "fabro")
    return f"`{path} --help` shows how it is used."


def _keep(error: BaseException, settings: Settings) -> str:
    """Write the traceback to a file of the storage folder, or of the temporary one where there is no storage yet:
    a folder that a server has not claimed must stay as it is.
    """
    text = f"{to_text(SystemClock().now())}\n{''.join(traceback.format_exception(error))}"
    try:
        folder = find_paths(settings.environment, storage_dir=settings.storage_dir).log_file.parent
        file = folder / "cli-error.log"
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, FabroError):
        return _keep_elsewhere(text)
    return str(file)


def _keep_elsewhere(text: str) -> str:
    """Write to a new file of the temporary folder, which nobody else can have prepared."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="fabro-error-", suffix=".log", delete=False) as file:
            file.write(text.encode("utf-8", "backslashreplace").decode())
            return file.name
    except OSError as error:
        return f"no file: {error.strerror}"
