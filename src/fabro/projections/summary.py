"""A run in a few lines, as lists show it. Above: stores keep it beside each run. Below: events.

Source: reference/mcp-server.md §6 (Run).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fabro.ids import QuestionId, RunId, VersionId
from fabro.run import events as e
from fabro.run.ledger import status_after
from fabro.run.spec import WorkflowName
from fabro.run.status import Status, StatusKind
from fabro.run.target import Target
from fabro.run.usage import NO_USAGE, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """What a list or a header says of a run; a fold of its events, never written by anything else.

    `error` is the message of a failed run. `usage` adds up every model call.
    """

    id: RunId
    parent_id: RunId | None
    title: str
    goal: str
    workflow: WorkflowName
    version_id: VersionId
    target: Target
    labels: Mapping[str, str]
    dry_run: bool
    client: str | None
    status: Status
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    cancel_requested: bool = False
    archived: bool = False
    error: str | None = None
    working_directory: str | None = None
    open_questions: tuple[QuestionId, ...] = ()
    usage: Usage = field(default=NO_USAGE)


def begin(stored: e.StoredEvent) -> RunSummary:
    """The summary after a run's first event.

    Raises:
        ValueError: the event is not `run.created`.
    """
    event = stored.event
    if not isinstance(event, e.RunCreated):
        raise ValueError(f"a run begins with run.created, not with {event.name}")  # noqa: TRY004
    spec = event.spec
    return RunSummary(
        id=stored.run_id,
        parent_id=event.parent_id,
        title=spec.title,
        goal=spec.goal,
        workflow=spec.workflow,
        version_id=spec.version_id,
        target=spec.target,
        labels=spec.args.labels,
        dry_run=bool(spec.args.dry_run),
        client=spec.client,
        status=Status(kind=StatusKind.SUBMITTED),
        created_at=stored.at,
    )


def apply(summary: RunSummary, stored: e.StoredEvent) -> RunSummary:
    """The summary after one more event: the very same value where the event does not touch it."""
    event = stored.event
    match event:
        case e.RunStarted(working_directory=folder):
            return replace(summary, working_directory=folder, started_at=stored.at)
        case e.RunCancelRequested():
            return replace(summary, cancel_requested=True)
        case e.RunCompleted():
            return replace(summary, status=_status(event, summary), completed_at=stored.at)
        case e.RunFailed(message=message):
            return replace(summary, status=_status(event, summary), completed_at=stored.at, error=message)
        case e.InterviewStarted(question_id=question):
            return replace(summary, open_questions=(*summary.open_questions, question))
        case e.InterviewCompleted() | e.InterviewTimeout() | e.InterviewInterrupted():
            still_open = tuple(q for q in summary.open_questions if q != event.question_id)
            return replace(summary, open_questions=still_open)
        case e.PromptCompleted(usage=usage):
            return replace(summary, usage=summary.usage.plus(usage))
        case _:
            status = status_after(event, summary.status)
            return summary if status is None else replace(summary, status=status)


def _status(event: e.RunCompleted | e.RunFailed, summary: RunSummary) -> Status:
    status = status_after(event, summary.status)
    return summary.status if status is None else status
