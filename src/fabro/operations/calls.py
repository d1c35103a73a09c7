"""All operations as one value. Above: the server, in-process callers. Below: the single operations."""

from dataclasses import dataclass

from fabro.operations.events import Events
from fabro.operations.questions import Questions
from fabro.operations.runs import Runs
from fabro.operations.versions import Versions


@dataclass(frozen=True, kw_only=True, slots=True)
class Operations:
    """Implements `fabro.calls.Calls` in process."""

    versions: Versions
    runs: Runs
    questions: Questions
    events: Events
