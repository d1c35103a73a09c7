"""The answers of the REST API that are no view by themselves: what wraps the views. Above: the client, the server's
routers. Below: calls.

Both sides of the wire share these, and `fabro.calls`, as their one definition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fabro.calls import QuestionView
from fabro.ids import RunId, VersionId
from fabro.json_value import JsonValue
from fabro.projections.envelope import EventEnvelope
from fabro.projections.run_view import RunView


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionBody:
    """A workflow version to store."""

    entrypoint: str
    files: Mapping[str, str]
    workflow_dependencies: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionCreated:
    """A workflow version's id."""

    workflow_version_id: VersionId


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVersion:
    """A stored workflow version with its id."""

    workflow_version_id: VersionId
    entrypoint: str
    files: Mapping[str, str]
    workflow_dependencies: Mapping[str, VersionId]


@dataclass(frozen=True, kw_only=True, slots=True)
class PageMeta:
    """How a list goes on: `next_cursor` asks for the next page."""

    has_more: bool
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunList:
    """A page of runs."""

    data: tuple[RunView, ...]
    meta: PageMeta


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The run that a selector means."""

    run_id: RunId


@dataclass(frozen=True, kw_only=True, slots=True)
class EventMeta:
    """Whether the log goes on in the direction asked for."""

    has_more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class EventList:
    """A page of events."""

    data: tuple[EventEnvelope, ...]
    meta: EventMeta


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionList:
    """A run's open questions."""

    data: tuple[QuestionView, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """A server that answers. `unfinished_runs` is counted up to 1,000; `mode` is `foreground` or `background`;
    `listening` are unix sockets' paths and URLs; `storage` is None for a server that keeps everything in memory;
    `idle_minutes` is how long one in the background may be idle, 0 for ever, None where that is not told.
    """

    status: str
    version: str
    pid: int
    started_at: datetime
    mode: str
    unfinished_runs: int
    storage: str | None = None
    listening: tuple[str, ...] = field(default=())
    idle_minutes: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorDetail:
    """What went wrong. `status` is the HTTP status as text, `title` its phrase, `detail` the message for people;
    `code` is stable, for programs; `hint` says what to do next; `details` are further facts for programs.
    """

    status: str
    title: str
    detail: str
    code: str
    request_id: str
    hint: str | None = None
    details: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorBody:
    """The body of every answer that tells an error."""

    errors: tuple[ErrorDetail, ...]
    request_id: str
