"""The process that serves the local model. Above: `local`, which starts it by this file's path and owns it. Below:
xllamacpp alone; nothing of this package is imported, so that it starts fast.

Arguments: the weights' path, an empty private folder, the context's size in tokens, the seconds it may be idle. In
the folder it opens `model.sock` (the library tells a socket by that ending) and then prints one line. Each byte on
standard input reports the begin (`+`) or the end (`-`) of a request. The process ends when it was idle for too long
or when that pipe ends, which it also does when the owner is killed; it takes the folder along.
"""

import importlib
import os
import select
import shutil
import sys
from pathlib import Path
from typing import Protocol, cast

_PIPE_BYTES = 4096
_MAX_WRITERS = 4


class _Weights(Protocol):
    path: str


class _Sampling(Protocol):
    temp: float
    top_p: float
    penalty_repeat: float


class _Threads(Protocol):
    n_threads: int
    poll: int


class _Parameters(Protocol):
    """The part of xllamacpp's `CommonParams` that is set here; the library has no types of its own."""

    model: _Weights
    model_alias: set[str]
    hostnames: list[str]
    n_ctx: int
    n_parallel: int
    verbosity: int
    ui: bool
    endpoint_slots: bool
    sampling: _Sampling
    cpuparams: _Threads
    cpuparams_batch: _Threads


CANNOT_LOAD = "the library that runs it can't be loaded"
"""How the process's last words begin when trying again is of no use."""


class _Library(Protocol):
    def CommonParams(self) -> _Parameters: ...  # noqa: N802 - the library's own name

    def Server(self, parameters: _Parameters, /) -> object: ...  # noqa: N802 - the library's own name


def main(weights: str, folder: str, context_tokens: str, idle_seconds: str) -> None:
    """Serve until the owner is gone or nothing was asked for `idle_seconds`."""
    try:
        _keep = serve(weights, Path(folder) / "model.sock", int(context_tokens))
    except ImportError as error:
        sys.exit(f"{CANNOT_LOAD}: {error}")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    watch(sys.stdin.fileno(), float(idle_seconds))
    shutil.rmtree(folder, ignore_errors=True)
    # The server's threads do not end by themselves, and nothing is left to save.
    os._exit(0)


def serve(weights: str, socket: Path, context_tokens: int) -> object:
    """Start the server on a unix socket; it runs as long as what is returned is kept."""
    library = cast("_Library", cast("object", importlib.import_module("xllamacpp")))
    parameters = library.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {"smollm2-135m"}
    parameters.hostnames = [str(socket)]
    parameters.n_ctx = context_tokens
    parameters.n_parallel = 1
    parameters.verbosity = -1
    _leave_room(parameters)
    # A model this small wanders off and repeats itself with the usual values.
    parameters.sampling.temp = 0.2
    parameters.sampling.top_p = 0.9
    parameters.sampling.penalty_repeat = 1.1
    parameters.ui = False
    parameters.endpoint_slots = False
    return library.Server(parameters)


def _leave_room(parameters: _Parameters) -> None:
    """Half the processors write, all read the prompt, and none spins while it waits.

    Threads that wait for each other after every token stand still as soon as another program wants a processor.
    """
    processors = os.cpu_count() or 1
    parameters.cpuparams.n_threads = min(_MAX_WRITERS, max(1, processors // 2))
    parameters.cpuparams_batch.n_threads = processors
    parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0


def watch(pipe: int, idle_seconds: float) -> None:
    """Return when `pipe` ends, or when no request was open for `idle_seconds`.

    One is open from the start: the one that the process was started for.
    """
    active = 1
    while True:
        readable, _, _ = select.select([pipe], [], [], None if active > 0 else idle_seconds)
        reports = os.read(pipe, _PIPE_BYTES) if readable else b""
        if not reports:
            return
        active += reports.count(b"+") - reports.count(b"-")


if __name__ == "__main__":
    main(*sys.argv[1:])
