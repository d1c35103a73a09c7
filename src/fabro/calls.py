"""What callers do with runs: one small set of protocols that every door speaks.

Above: the MCP server's tools, the CLI. Below: views. `operations` implements it in process, `client` over HTTP.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from fabro.ids import QuestionId, RunId, StageId, VersionId
from fabro.json_value import JsonValue
from fabro.projections.detail import CheckpointView, StageView
from fabro.projections.envelope import EventEnvelope
from fabro.projections.run_view import RunView
from fabro.run.question import Answer, Option, QuestionKind
from fabro.run.spec import RunArgs
from fabro.run.status import StatusKind
from fabro.run.target import Target
from fabro.workflow.version import Version

Until: TypeAlias = Literal["terminal", "blocked"]
"""What a wait waits for: the end, or the end or a question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunIntent:
    """A run to create. Source: reference/mcp-server.md §3.

    `workflow_version_id` is 64 hex digits in any case. `title`, when given, is one line of 1 to 100 characters.
    `goal` is literal text.
    """

    workflow_version_id: str
    target: Target
    args: RunArgs = field(default_factory=RunArgs)
    environment_id: str | None = None
    parent_id: str | None = None
    title: str | None = None
    goal: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunListQuery:
    """Which runs to list, newest first. `cursor` is the `next_cursor` of the page before."""

    statuses: frozenset[StatusKind] = frozenset()
    parent_id: RunId | None = None
    limit: int = 20
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPage:
    """Some runs and how to get the next; `next_cursor` is None on the last page."""

    data: tuple[RunView, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionView:
    """An open question."""

    id: QuestionId
    run_id: RunId
    stage: StageId
    text: str
    question_type: QuestionKind
    options: tuple[Option, ...]
    allow_freeform: bool
    timeout_seconds: float | None
    context_display: str | None
    asked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStateView:
    """A run in full. `stages` stand in the order in which they started."""

    run: RunView
    inputs: Mapping[str, JsonValue]
    stages: tuple[StageView, ...]
    checkpoints: tuple[CheckpointView, ...]
    questions: tuple[QuestionView, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EventQuery:
    """A stretch of a run's log.

    `after` is exclusive: with `order` asc events with a greater sequence number follow, with desc those with a
    smaller one; None starts at the respective end. `limit` is from 1 to 1,000.
    """

    after: int | None = None
    order: Literal["asc", "desc"] = "asc"
    limit: int = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class EventPage:
    """Some events; `has_more` tells whether the log goes on in the direction asked for."""

    data: tuple[EventEnvelope, ...]
    has_more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Waited:
    """The runs, in the order asked for, as they stood when the wait ended."""

    runs: tuple[RunView, ...]
    timed_out: bool


class VersionCalls(Protocol):
    """Workflow versions."""

    async def create(self, version: Version) -> VersionId:
        """Store a version; equal contents give the same id. Its dependencies must be stored already.

        Raises:
            InvalidInput: `workflow_version_invalid`, `workflow_version_dependency_not_found`.
            TooLarge: `workflow_version_too_large`.
        """
        ...

    async def get(self, version_id: str) -> Version:
        """A stored version.

        Raises:
            NotFound: `workflow_version_not_found`.
        """
        ...


class RunCalls(Protocol):
    """Runs as wholes. Every method that takes a run id raises NotFound (`run_not_found`) for an unknown one."""

    async def create(self, intent: RunIntent) -> RunView:
        """Persist a submitted run. Nothing is persisted when it is refused.

        Raises:
            InvalidInput, NotFound: the codes of reference/mcp-server.md §3.
        """
        ...

    async def start(self, run_id: RunId) -> RunView:
        """Ask for a submitted run to execute. A run with nodes that nothing here executes fails at once.

        Raises:
            Conflict: the run is not submitted.
        """
        ...

    async def cancel(self, run_id: RunId) -> RunView:
        """Ask for a run to end. One that has not begun to execute ends at once.

        Raises:
            Conflict: `run_terminal`.
        """
        ...

    async def get(self, run_id: RunId) -> RunView:
        """A run."""
        ...

    async def state(self, run_id: RunId) -> RunStateView:
        """A run in full."""
        ...

    async def list(self, query: RunListQuery) -> RunPage:
        """A page of runs.

        Raises:
            InvalidInput: the limit or the cursor is none.
        """
        ...

    async def resolve(self, selector: str) -> RunId:
        """The run that a selector means: an id's beginning, else the newest run of a workflow of that name.

        Raises:
            InvalidInput: blank, or the beginning of several ids.
            NotFound: it means none.
        """
        ...

    async def wait(self, run_ids: Sequence[RunId], *, until: Until, timeout_seconds: float) -> Waited:
        """Wait until every run is there, or the time is up; wakes on events."""
        ...


class QuestionCalls(Protocol):
    """What runs ask people."""

    async def list(self, run_id: RunId) -> tuple[QuestionView, ...]:
        """A run's open questions."""
        ...

    async def answer(self, run_id: RunId, question_id: str, answer: Answer, *, actor: str | None = None) -> None:
        """Answer an open question; of two answers one wins.

        Raises:
            InvalidInput: `answer_invalid`; the question stays open.
            Conflict: `question_closed`: it is not open any more, or never was.
        """
        ...


class EventCalls(Protocol):
    """What happened in runs."""

    async def list(self, run_id: RunId, query: EventQuery) -> EventPage:
        """A page of a run's events."""
        ...

    def follow(self, run_id: RunId, *, after: int = 0) -> AsyncGenerator[EventEnvelope]:
        """A run's events after a sequence number, then each new one; ends after the event that ends the run."""
        ...


class Calls(Protocol):
    """All of them."""

    @property
    def versions(self) -> VersionCalls:
        """Workflow versions."""
        ...

    @property
    def runs(self) -> RunCalls:
        """Runs."""
        ...

    @property
    def questions(self) -> QuestionCalls:
        """Questions."""
        ...

    @property
    def events(self) -> EventCalls:
        """Events."""
        ...
