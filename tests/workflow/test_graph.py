from datetime import timedelta

from fabro.ids import NodeId
from fabro.workflow.graph import Graph
from tests.workflow.graphs import graph_of, node_of


def test_accessors_read_by_type_and_know_the_defaults() -> None:
    text = 'digraph G { n [max_retries="5", timeout="900s", goal_gate="true", label="5m", mine=3, share=.5]'
    text += " p [shape=component] }"
    node = node_of(text, "n")
    assert node.integer("max_retries") == 5
    assert node.duration("timeout") == timedelta(seconds=900)
    assert node.flag("goal_gate") is True
    assert node.label == "5m"
    assert (node.integer("mine"), node.text("mine"), node.number("share")) == (3, "3", 0.5)
    assert node.flag("auto_status") is False
    assert (node.text("prompt"), node.integer("absent"), node.duration("label"), node.number("label")) == (
        None,
    ) * 4
    assert node_of(text, "p").integer("max_parallel") == 4


def test_what_cannot_be_read_leaves_the_default() -> None:
    graph = graph_of('digraph G { stall_timeout="soon"; n [goal_gate="maybe"] }')
    assert graph.duration("stall_timeout") == timedelta(seconds=1800)
    assert graph_of("digraph G { stall_timeout=0 }").duration("stall_timeout") == timedelta()
    assert graph.nodes[NodeId("n")].flag("goal_gate") is False


def test_a_node_asks_its_prompt_or_its_label_or_its_name() -> None:
    text = "digraph G { a [label=L, prompt=P] b [label=L] c }"
    assert [node_of(text, name).prompt_text for name in "abc"] == ["P", "L", "c"]


def ends(graph: Graph) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in graph.edges]


def test_edges_by_node() -> None:
    graph = graph_of("digraph G { a b c a -> b -> c; a -> c; a -> c }")
    assert ends(graph) == [("a", "b"), ("b", "c"), ("a", "c"), ("a", "c")]
    assert [edge.index for edge in graph.outgoing(NodeId("a"))] == [0, 2, 3]
    assert [edge.index for edge in graph.incoming(NodeId("c"))] == [1, 2, 3]
    assert graph.outgoing(NodeId("nowhere")) == ()


def test_edge_fields() -> None:
    attributes = 'label="5m", condition="outcome=failed", weight="7", freeform="true", thread_id=t'
    text = f"digraph G {{ a b a -> b [{attributes}] }}"
    (edge,) = graph_of(text).edges
    assert (edge.label, edge.weight, edge.freeform, edge.text("thread_id")) == ("5m", 7, True, "t")
    assert edge.condition is not None
    assert edge.condition.keys == {"outcome"}
    assert edge.arrow == "a -> b"


def test_graph_fields() -> None:
    graph = graph_of('digraph G { goal="g"; label="L"; max_node_visits="20" }')
    assert (graph.goal, graph.label, graph.integer("max_node_visits"), graph.name) == ("g", "L", 20, "G")
    assert (graph_of("digraph G { }").goal, graph_of("digraph G { }").label) == ("", "G")
