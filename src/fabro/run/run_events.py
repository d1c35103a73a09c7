"""Events of a run as a whole: its life cycle and the way that it takes. Above: events. Below: the run's facts."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from fabro.ids import NodeId, RunId
from fabro.run.spec import RunSpec
from fabro.run.status import FailureReason, SuccessReason

RouteReason: TypeAlias = Literal["condition", "preferred_label", "suggested_next", "unconditional", "jump"]
"""Why an edge was taken."""
NoticeLevel: TypeAlias = Literal["info", "warn", "error"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCreated:
    """A run exists; the first event of every log."""

    name: ClassVar = "run.created"
    spec: RunSpec
    parent_id: RunId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSubmitted:
    """The run waits for a start request."""

    name: ClassVar = "run.submitted"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStartRequested:
    """Somebody asked for the run to start."""

    name: ClassVar = "run.start_requested"
    resume: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRunnable:
    """The run waits for a place to execute."""

    name: ClassVar = "run.runnable"
    source: Literal["start_requested", "approved"] = "start_requested"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarting:
    """The run has a place and its workspace is being made."""

    name: ClassVar = "run.starting"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """The workspace is ready: the absolute path of the folder where commands run."""

    name: ClassVar = "run.started"
    working_directory: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRunning:
    """Stages execute."""

    name: ClassVar = "run.running"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunBlocked:
    """The run can't go on until somebody answers."""

    name: ClassVar = "run.blocked"
    blocked_reason: Literal["human_input_required"] = "human_input_required"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunUnblocked:
    """What the run waited for has come."""

    name: ClassVar = "run.unblocked"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCancelRequested:
    """Somebody asked for the run to end; it does as soon as what executes has been stopped."""

    name: ClassVar = "run.cancel.requested"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCompleted:
    """The run reached an exit and every goal gate had passed."""

    name: ClassVar = "run.completed"
    reason: SuccessReason = SuccessReason.COMPLETED


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFailed:
    """The run ended without success; `message` says why, for people."""

    name: ClassVar = "run.failed"
    reason: FailureReason
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunNotice:
    """Something that a person may want to know and that changes nothing."""

    name: ClassVar = "run.notice"
    level: NoticeLevel
    code: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeSelected:
    """The way on was chosen. A jump follows a retry target and no edge."""

    name: ClassVar = "edge.selected"
    from_node: NodeId
    to_node: NodeId
    reason: RouteReason
    label: str | None = None
    condition: str | None = None

    @property
    def is_jump(self) -> bool:
        """Whether no edge of the graph was followed."""
        return self.reason == "jump"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointCompleted:
    """Everything up to here is done and need never be done again."""

    name: ClassVar = "checkpoint.completed"
    current_node: NodeId
    next_node_id: NodeId
    git_commit_sha: str | None = None
