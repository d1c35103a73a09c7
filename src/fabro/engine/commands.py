"""What the brain tells the hand to do. Above: decide makes them, the runner carries them out. Below: events."""

from dataclasses import dataclass
from typing import TypeAlias

from fabro.ids import BlobId
from fabro.run.events import Event, StageStarted
from fabro.run.state import Inside
from fabro.workflow.graph import Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Write down what follows from the state by thought alone."""

    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PrepareWorkspace:
    """Make the place where the run works."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BeginStage:
    """Enter a node: `started` is the event that says so."""

    node: Node
    started: StageStarted


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumeStage:
    """Go on with a stage that is open in the log and that nothing executes."""

    node: Node
    inside: Inside


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadBlobs:
    """Fetch contents that the next decision needs."""

    blobs: frozenset[BlobId]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """Do nothing until something comes from outside."""


Command: TypeAlias = Record | PrepareWorkspace | BeginStage | ResumeStage | LoadBlobs | Rest
