"""What a run does next: pure, total and deterministic. Above: the runner. Below: route, the graph, a run's state.

Resume, replay and test are this same function over another state.
"""

from collections.abc import Mapping

from fabro.engine.commands import BeginStage, Command, LoadBlobs, PrepareWorkspace, Record, Rest, ResumeStage
from fabro.engine.route import Choice, retry_target, route
from fabro.engine.values import Values
from fabro.ids import BlobId, NodeId, stage_id
from fabro.run import events as e
from fabro.run.outcome import Failure, FailureCategory, Outcome, OutcomeStatus
from fabro.run.state import Arriving, Inside, Leaving, NotBegun, RunState
from fabro.run.status import FailureReason, StatusKind
from fabro.workflow.graph import Edge, Node, ValidGraph

DRY_RUN_VISITS = 10
"""How often a node is visited in a dry run of a graph that says nothing about it."""


def decide(valid: ValidGraph, state: RunState, blobs: Mapping[BlobId, str]) -> Command:
    """The next command.

    Args:
        valid: the run's graph with goal and prompts bound.
        state: the fold of the run's events.
        blobs: contents that were loaded for an earlier `LoadBlobs`.
    """
    match state.status.kind:
        case StatusKind.RUNNABLE:
            return Record(events=(e.RunStarting(),))
        case StatusKind.STARTING if state.cancel_requested:
            return _cancelling(state)
        case StatusKind.STARTING:
            return PrepareWorkspace()
        case StatusKind.RUNNING | StatusKind.BLOCKED:
            return _go_on(valid, state, blobs)
        case _:
            return Rest()


def ending(state: RunState, reason: FailureReason, message: str) -> tuple[e.Event, ...]:
    """The events that end a run before its time: whatever is open is closed first."""
    events: list[e.Event] = []
    position = state.position
    if (asked := state.open_question) is not None:
        question = asked.question
        events.append(e.InterviewInterrupted(stage_id=question.stage, question_id=question.id, reason=message))
    if isinstance(position, Inside):
        cancelled = reason is FailureReason.CANCELLED
        category = FailureCategory.CANCELED if cancelled else FailureCategory.TRANSIENT_INFRA
        events.append(
            e.StageFailed(stage_id=position.stage_id, failure=Failure(message=message, category=category))
        )
    events.append(e.RunFailed(reason=reason, message=message))
    return tuple(events)


def _cancelling(state: RunState) -> Record:
    return Record(events=ending(state, FailureReason.CANCELLED, "the run was cancelled"))


def _go_on(valid: ValidGraph, state: RunState, blobs: Mapping[BlobId, str]) -> Command:
    if state.cancel_requested:
        return _cancelling(state)
    match state.position:
        case NotBegun():
            return _arrive(valid, state, valid.start)
        case Arriving(node_id=node):
            return _arrive(valid, state, node)
        case Inside() as inside:
            return ResumeStage(node=valid.graph.nodes[inside.node_id], inside=inside)
        case Leaving(node_id=node):
            return _leave(valid, state, valid.graph.nodes[node], blobs)


def _arrive(valid: ValidGraph, state: RunState, node_id: NodeId) -> Command:
    if node_id in valid.exits:
        return _finish(valid, state, node_id)
    node = valid.graph.nodes[node_id]
    visit = state.visits.get(node_id, 0) + 1
    limit = _visit_limit(valid, state, node)
    if limit is not None and visit > limit[0]:
        return _fail(
            f"node {node_id!r} was visited {visit - 1} times ({limit[1]} {limit[0]}): the run is stuck in a cycle"
        )
    started = e.StageStarted(
        stage_id=stage_id(node_id, state.ordinals.get(node_id, 0) + 1),
        handler_type=node.type.value,
        graph_visit=visit,
    )
    return BeginStage(node=node, started=started)


def resumed(state: RunState, inside: Inside) -> e.StageStarted:
    """The event that begins a cut-off stage's work again, as the same visit under a new id."""
    return e.StageStarted(
        stage_id=stage_id(inside.node_id, state.ordinals[inside.node_id] + 1),
        handler_type=inside.handler_type,
        graph_visit=inside.graph_visit,
        resumed_from_stage_id=inside.stage_id,
    )


def _visit_limit(valid: ValidGraph, state: RunState, node: Node) -> tuple[int, str] | None:
    own = node.integer("max_visits")
    graph = valid.graph.integer("max_node_visits") or 0
    if graph <= 0 and state.spec is not None and state.spec.args.dry_run:
        graph = DRY_RUN_VISITS
    limits = [(own, "its max_visits is")] if own is not None else []
    limits += [(graph, "the graph's max_node_visits is")] if graph > 0 else []
    return min(limits, default=None)


def _leave(valid: ValidGraph, state: RunState, node: Node, blobs: Mapping[BlobId, str]) -> Command:
    graph = valid.graph
    outcome = state.outcome
    values = Values(graph=graph, node=node, state=state, outcome=outcome, blobs=blobs)
    conditions = [edge.condition for edge in graph.outgoing(node.id) if edge.condition is not None]
    missing = values.missing(key for condition in conditions for key in condition.keys)
    if missing:
        return LoadBlobs(blobs=missing)
    seed = f"{state.run_id}/{state.ordinals[node.id]}/{node.id}"
    choice = route(graph, node, outcome, values.lookup, seed=seed)
    if choice is None and outcome.status is OutcomeStatus.FAILED:
        fallback = retry_target(graph, [graph.text("retry_target"), graph.text("fallback_retry_target")])
        choice = Choice(to_node=fallback, reason="jump") if fallback is not None else None
    if choice is None:
        return _fail(_no_way_on(graph.outgoing(node.id), node, outcome, values))
    return _take(node.id, choice)


def _no_way_on(edges: tuple[Edge, ...], node: Node, outcome: Outcome, values: Values) -> str:
    if outcome.status is OutcomeStatus.FAILED:
        reason = outcome.failure.message if outcome.failure else "no reason given"
        return f"stage {node.id!r} failed and no edge leads on from a failure: {reason}"
    if not edges:
        return f"the run ended at {node.id!r}, which is no exit and has no outgoing edge"
    keys = sorted({key for edge in edges if edge.condition is not None for key in edge.condition.keys})
    seen = ", ".join(f"{key}={str(values.lookup(key))[:80]!r}" for key in keys)
    return f"no edge of {node.id!r} matches: outcome {outcome.status.value}, {seen or 'no conditions'}"


def _take(node_id: NodeId, choice: Choice) -> Record:
    edge = choice.edge
    return Record(
        events=(
            e.EdgeSelected(
                from_node=node_id,
                to_node=choice.to_node,
                reason=choice.reason,
                label=edge.label if edge else None,
                condition=edge.condition_text if edge else None,
            ),
            e.CheckpointCompleted(current_node=node_id, next_node_id=choice.to_node),
        )
    )


def _finish(valid: ValidGraph, state: RunState, exit_id: NodeId) -> Command:
    graph = valid.graph
    for node in sorted(graph.nodes.values(), key=lambda node: node.id):
        if not node.flag("goal_gate"):
            continue
        end = state.ends.get(node.id)
        if end is not None and end.outcome.is_successful:
            continue
        holders = (node, graph)
        names = [holder.text(name) for holder in holders for name in ("retry_target", "fallback_retry_target")]
        target = retry_target(graph, names)
        why = "was never visited" if end is None else f"ended {end.outcome.status.value}"
        if target is None:
            return _fail(f"goal gate {node.id!r} {why}, and there is no retry target")
        return _take(exit_id, Choice(to_node=target, reason="jump"))
    return Record(events=(e.RunCompleted(),))


def _fail(message: str) -> Record:
    return Record(events=(e.RunFailed(reason=FailureReason.WORKFLOW_ERROR, message=message),))
