"""What a node type does: the contract between the engine and the handlers. Above: runner, handlers. Below: state.

A handler's `begin` and `resume` are pure: they return a plan. Only an `Effect` touches the world, and it is run
after everything decided so far is on disk (design §5, durable before effect).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

import anyio

from fabro.ids import StageId
from fabro.run.events import Event
from fabro.run.outcome import Outcome
from fabro.run.spec import RunSpec
from fabro.run.state import Inside, RunState
from fabro.sandbox.port import Sandbox
from fabro.workflow.graph import Node, ValidGraph


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCall:
    """What a handler gets to know. `state` is to be read only, and only before an effect begins.

    `open_sandbox`, for effects, gives the place where the run's commands run.
    """

    node: Node
    stage_id: StageId
    valid: ValidGraph
    spec: RunSpec
    state: RunState
    open_sandbox: Callable[[], Awaitable[Sandbox]]
    now: datetime

    @property
    def is_dry_run(self) -> bool:
        """Whether effects are to be simulated."""
        return bool(self.spec.args.dry_run)


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The end of a stage: the events that tell what happened in it, and its outcome."""

    outcome: Outcome
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """Work on the world. `events` are recorded before it begins.

    `run` returns soon after its argument is set, with whatever it can tell by then. `owns_timeout` says that the
    node's `timeout` attribute is obeyed inside.
    """

    run: Callable[[anyio.Event], Awaitable[Result]]
    events: tuple[Event, ...] = ()
    owns_timeout: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Park:
    """Wait for something from outside, or until a moment, without any task or memory held."""

    until: datetime | None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rerun:
    """The stage was cut off in the middle of an effect: do it again as a new stage."""


Settled: TypeAlias = Result | Park
Plan: TypeAlias = Settled | Effect


class Handler(Protocol):
    """One node type."""

    def begin(self, call: StageCall) -> Plan:
        """What a new stage does. Pure; a `FabroError` raised here fails the stage with its message."""
        ...

    def resume(self, call: StageCall, inside: Inside) -> Settled | Rerun:
        """What a stage does that the log shows as open while nothing executes it: after a restart, or when what
        a parked stage waited for has come. Pure.
        """
        ...
