"""Routing: the order of the ways on, and that it is total and deterministic for whatever graph."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.engine.route import Choice, pick, route
from fabro.ids import NodeId
from fabro.json_value import JsonValue
from fabro.run.outcome import Outcome, OutcomeStatus, failed, succeeded
from fabro.workflow.graph import Graph, ValidGraph
from fabro.workflow.load import load


def valid(text: str) -> ValidGraph:
    loaded = load("w.fabro", {"w.fabro": text})
    assert loaded.valid is not None, [d.message for d in loaded.diagnostics]
    return loaded.valid


def graph_of(edges: str, *, work: str = "shape=parallelogram, script=true", extra: str = "") -> Graph:
    return valid(
        "digraph W { start [shape=Mdiamond] exit [shape=Msquare]"
        f" w [{work}] a [shape=parallelogram, script=true] b [shape=parallelogram, script=true] {extra}"
        f" start -> w {edges} a -> exit b -> exit }}"
    ).graph


def go(graph: Graph, outcome: Outcome, **context: JsonValue) -> Choice | None:
    values = {"outcome": outcome.status.value, **context}
    return route(graph, graph.nodes[NodeId("w")], outcome, values.get, seed="s")


def labelled(label: str, outcome: OutcomeStatus = OutcomeStatus.SUCCEEDED) -> Outcome:
    return Outcome(status=outcome, preferred_label=label)


def target(choice: Choice | None) -> tuple[str, str] | None:
    return None if choice is None else (choice.to_node, choice.reason)


def test_a_true_condition_beats_everything_else() -> None:
    graph = graph_of('w -> a [label=go] w -> b [condition="outcome=succeeded"]')
    assert target(go(graph, labelled("go"))) == ("b", "condition")


def test_a_preferred_label_is_compared_without_case_and_accelerator() -> None:
    graph = graph_of('w -> a w -> b [label="[B] Take B"]')
    assert target(go(graph, labelled(" take b "))) == ("b", "preferred_label")


def test_a_suggested_node_is_taken_when_no_label_fits() -> None:
    graph = graph_of("w -> a w -> b")
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, preferred_label="zzz", suggested_next=("none", "b"))
    assert target(go(graph, outcome)) == ("b", "suggested_next")


def test_the_heaviest_edge_wins_then_the_smallest_target() -> None:
    assert target(go(graph_of("w -> b w -> a"), succeeded())) == ("a", "unconditional")
    assert target(go(graph_of("w -> a w -> b [weight=2]"), succeeded())) == ("b", "unconditional")


def test_a_failed_stage_prefers_its_retry_target_to_an_unconditional_edge() -> None:
    graph = graph_of("w -> a", work="shape=parallelogram, script=true, retry_target=b", extra="start -> b")
    assert target(go(graph, failed("no"))) == ("b", "jump")
    assert target(go(graph, succeeded())) == ("a", "unconditional")


def test_a_failed_stage_takes_a_matching_condition_before_its_retry_target() -> None:
    graph = graph_of(
        'w -> a [condition="outcome=failed"] w -> b',
        work="shape=parallelogram, script=true, retry_target=b",
    )
    assert target(go(graph, failed("no"))) == ("a", "condition")


def test_a_failed_human_gate_never_falls_through() -> None:
    graph = graph_of("w -> a w -> b", work="shape=hexagon")
    assert go(graph, failed("nobody answered")) is None


def test_a_random_choice_is_weighted_and_the_same_for_the_same_seed() -> None:
    graph = graph_of("w -> a [weight=3] w -> b", work="shape=parallelogram, script=true, selection=random")
    node = graph.nodes[NodeId("w")]
    edges = graph.outgoing(node.id)
    drawn = [pick(edges, node, seed=f"run/{n}").target for n in range(400)]
    assert drawn == [pick(edges, node, seed=f"run/{n}").target for n in range(400)]
    assert 240 < drawn.count(NodeId("a")) < 360


LABELS = st.sampled_from(["go", "stay", "[G] go", ""])
CONDITIONS = st.sampled_from(["", "outcome=failed", "outcome!=failed", "k=1", "k>0 && !x", "(a || b) && c"])
EDGES = st.lists(st.tuples(st.sampled_from("ab"), LABELS, CONDITIONS, st.integers(-3, 3)), min_size=1, max_size=6)


@given(
    edges=EDGES,
    status=st.sampled_from(OutcomeStatus),
    label=st.none() | LABELS,
    suggested=st.lists(st.sampled_from(["a", "b", "zz"]), max_size=2),
    context=st.dictionaries(st.sampled_from("kxabc"), st.none() | st.integers() | st.text(max_size=3)),
)
def test_routing_is_total_and_deterministic(
    edges: list[tuple[str, str, str, int]],
    status: OutcomeStatus,
    label: str | None,
    suggested: list[str],
    context: dict[str, JsonValue],
) -> None:
    text = " ".join(
        f'w -> {to} [label="{name}", condition="{condition}", weight={weight}]'
        for to, name, condition, weight in edges
    )
    graph = graph_of(text + " w -> a")
    outcome = Outcome(status=status, preferred_label=label, suggested_next=tuple(suggested))
    first = go(graph, outcome, **context)
    assert first is not None
    assert first == go(graph, outcome, **context)
    assert first.edge is not None
    assert first.edge in graph.outgoing(NodeId("w"))


def test_no_way_on_is_none() -> None:
    graph = graph_of('w -> a [condition="k=1"] w -> b [condition="k!=1"]')
    assert target(go(graph, succeeded(), k="1")) == ("a", "condition")
    assert target(go(graph, succeeded())) == ("b", "condition")
    with pytest.raises(AssertionError):
        graph_of('w -> a [condition="k=1"]')
