"""The brain: walked with made-up outcomes, so that each rule of the engine shows as a path through a graph."""

from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fabro.engine.commands import BeginStage, LoadBlobs, PrepareWorkspace, Record, Rest, ResumeStage
from fabro.engine.decide import decide, resumed
from fabro.ids import BlobId, NodeId, RunId, StageId, VersionId
from fabro.run import events as e
from fabro.run.ledger import Ledger
from fabro.run.outcome import Outcome, OutcomeStatus, failed, succeeded
from fabro.run.spec import RunArgs, RunSpec, WorkflowName
from fabro.run.state import Inside, RunState
from fabro.run.status import StatusKind
from fabro.run.target import NoTarget
from fabro.workflow.graph import ValidGraph
from fabro.workflow.load import load

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def valid(body: str) -> ValidGraph:
    head = "start [shape=Mdiamond] exit [shape=Msquare] node [shape=parallelogram, script=true]"
    text = f"digraph W {{ {head} {body} }}"
    loaded = load("w.fabro", {"w.fabro": text})
    assert loaded.valid is not None, [d.message for d in loaded.diagnostics]
    return loaded.valid


class Walk:
    """Plays the runner without a world: every stage ends as `outcome_of` says. The ledger judges each event."""

    def __init__(
        self, graph: ValidGraph, outcome_of: Callable[[StageId], Outcome], *, dry_run: bool = False
    ) -> None:
        self.graph = graph
        self.outcome_of = outcome_of
        self.state = RunState(run_id=RunId("R"))
        self.ledger = Ledger()
        self.path: list[str] = []
        spec = RunSpec(
            version_id=VersionId("0" * 64),
            workflow=WorkflowName(graph="W", slug="w"),
            target=NoTarget(),
            title="t",
            args=RunArgs(dry_run=dry_run),
        )
        self.record(e.RunCreated(spec=spec), e.RunSubmitted(), e.RunStartRequested(), e.RunRunnable())

    def record(self, *events: e.Event) -> None:
        for event in events:
            self.ledger.admit(event)
            seq = self.state.seq + 1
            self.state.apply(e.StoredEvent(run_id=RunId("R"), seq=seq, at=NOW, event=event))

    def step(self) -> bool:
        command = decide(self.graph, self.state, {})
        match command:
            case Record(events=events):
                self.record(*events)
            case PrepareWorkspace():
                self.record(e.RunStarted(working_directory="/w"), e.RunRunning())
            case BeginStage(started=started):
                self.path.append(started.stage_id)
                self.record(started)
                outcome = self.outcome_of(started.stage_id)
                self.record(e.stage_end(started.stage_id, outcome, duration_ms=0))
            case ResumeStage(inside=inside):
                self.record(resumed(self.state, inside))
                assert isinstance(self.state.position, Inside)
                now = self.state.position.stage_id
                self.path.append(now)
                self.record(e.stage_end(now, self.outcome_of(now), duration_ms=0))
            case LoadBlobs() | Rest():
                return False
        return True

    def end(self, *, most: int = 2000) -> str:
        for _ in range(most):
            if not self.step():
                return str(self.state.status)
        raise AssertionError("the walk does not end")


def all_succeed(stage: StageId) -> Outcome:
    del stage
    return succeeded()


def failing(*stages: str) -> Callable[[StageId], Outcome]:
    return lambda stage: failed("no") if stage in stages else succeeded()


def test_a_line_is_walked_to_the_exit() -> None:
    walk = Walk(valid("a b start -> a -> b -> exit"), all_succeed)
    assert walk.end() == "succeeded(completed)"
    assert walk.path == ["start@1", "a@1", "b@1"]


def test_a_diamond_is_judged_by_the_stage_before_it() -> None:
    body = (
        'test gate [shape=diamond] fix start -> test -> gate gate -> exit [condition="outcome=succeeded"]'
        " gate -> fix fix -> test"
    )
    walk = Walk(valid(body), failing("test@1", "test@2"))
    assert walk.end() == "succeeded(completed)"
    assert walk.path == [
        *("start@1", "test@1", "gate@1", "fix@1", "test@2", "gate@2", "fix@2", "test@3", "gate@3"),
    ]


def test_a_visit_limit_allows_exactly_that_many_executions() -> None:
    walk = Walk(valid("a [max_visits=3] start -> a a -> exit [label=x, condition=never] a -> a"), all_succeed)
    assert walk.end() == "failed(workflow_error)"
    assert walk.path.count("a@3") == 1
    assert "a@4" not in walk.path
    last = Walk(valid("graph [max_node_visits=2] a start -> a a -> exit [condition=x] a -> a"), all_succeed)
    assert last.end() == "failed(workflow_error)"
    assert last.path == ["start@1", "a@1", "a@2"]


def test_a_dry_run_is_bounded_where_the_graph_is_not() -> None:
    walk = Walk(valid("a start -> a a -> exit [condition=x] a -> a"), all_succeed, dry_run=True)
    assert walk.end() == "failed(workflow_error)"
    assert walk.path.count("a@10") == 1


def test_a_goal_gate_that_failed_sends_the_run_to_its_retry_target() -> None:
    body = "a gate [goal_gate=true, retry_target=a] z start -> a -> gate -> z -> exit"
    walk = Walk(valid(body), failing("gate@1"))
    assert walk.end() == "succeeded(completed)"
    assert walk.path == ["start@1", "a@1", "gate@1", "a@2", "gate@2", "z@1"]


def test_a_goal_gate_that_was_never_visited_fails_the_run() -> None:
    body = 'a gate [goal_gate=true] start -> a a -> exit a -> gate [condition="x=1"] gate -> exit'
    walk = Walk(valid(body), all_succeed)
    assert walk.end() == "failed(workflow_error)"


def test_a_run_that_ends_elsewhere_than_at_an_exit_fails_and_says_why() -> None:
    walk = Walk(valid("a b start -> a a -> exit [condition=x] a -> b"), all_succeed)
    assert walk.end() == "failed(workflow_error)"


def test_a_failed_stage_without_a_way_on_fails_the_run() -> None:
    walk = Walk(
        valid(
            'a start -> a a -> exit [condition="outcome=succeeded"] a -> a [condition="outcome=skipped"]'
            ' a -> a [condition="outcome=partially_succeeded"] a -> exit [condition="outcome=failed && x"]'
            ' a -> a [condition="outcome=failed && !x && y"] a -> exit [weight=-1, label=never]'
        ),
        failing(),
    )
    assert walk.end() == "succeeded(completed)"


def test_cancelling_closes_what_is_open() -> None:
    walk = Walk(valid("a start -> a -> exit"), all_succeed)
    while not isinstance(walk.state.position, Inside) or walk.state.position.node_id != NodeId("a"):
        command = decide(walk.graph, walk.state, {})
        if isinstance(command, BeginStage) and command.node.id == "a":
            walk.record(command.started)
        else:
            walk.step()
    walk.record(e.RunCancelRequested())
    assert walk.end() == "failed(cancelled)"
    assert not walk.ledger.open_stages


def test_a_cut_off_stage_keeps_its_visit_and_gets_a_new_id() -> None:
    walk = Walk(valid("a [max_visits=1] start -> a -> exit"), all_succeed)
    while not isinstance(command := decide(walk.graph, walk.state, {}), BeginStage) or command.node.id != "a":
        walk.step()
    walk.record(command.started)
    assert walk.end() == "succeeded(completed)"
    assert walk.path == ["start@1", "a@2"]
    assert walk.state.visits[NodeId("a")] == 1


def test_conditions_on_large_values_wait_for_their_blobs() -> None:
    graph = valid('a start -> a a -> exit [condition="context.command.output contains yes"] a -> a')
    walk = Walk(graph, all_succeed)
    while not walk.state.ends.get(NodeId("start")):
        walk.step()
    walk.step()
    command = decide(graph, walk.state, {})
    assert isinstance(command, BeginStage)
    blob = BlobId("1" * 64)
    walk.record(
        command.started,
        e.CommandCompleted(
            stage_id=command.started.stage_id, termination="exited", exit_code=0, output_blob=blob, output_bytes=9
        ),
        e.StageCompleted(stage_id=command.started.stage_id),
    )
    assert decide(graph, walk.state, {}) == LoadBlobs(blobs=frozenset({blob}))
    chosen = decide(graph, walk.state, {blob: "no\nyes\n"})
    assert isinstance(chosen, Record)
    assert isinstance(chosen.events[0], e.EdgeSelected)
    assert chosen.events[0].to_node == "exit"


OUTCOMES = st.sampled_from(OutcomeStatus).map(
    lambda status: failed("no") if status is OutcomeStatus.FAILED else Outcome(status=status)
)


@given(
    edges=st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from(["a", "b", "c", "d", "exit"]),
            st.sampled_from(["", "outcome=failed", "outcome=succeeded"]),
        ),
        max_size=10,
    ),
    outcomes=st.lists(OUTCOMES, min_size=1, max_size=12),
)
def test_every_walk_ends_with_a_legal_log(edges: list[tuple[str, str, str]], outcomes: list[Outcome]) -> None:
    body = " ".join(f'{a} -> {b} [condition="{c}"]' for a, b, c in edges)
    chain = "start -> a -> b -> c -> d -> exit"
    graph = valid(f"graph [max_node_visits=4] a b c d {chain} {body}")
    taken = iter(outcomes * 40)
    walk = Walk(graph, lambda _: next(taken))
    walk.end()
    assert walk.state.status.kind in (StatusKind.SUCCEEDED, StatusKind.FAILED)
    assert not walk.ledger.open_stages
