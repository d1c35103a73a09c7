import pytest

from fabro.workflow.build import class_of_label
from tests.workflow.graphs import graph_of, node_of


def test_graph_attributes_last_wins() -> None:
    assert graph_of("digraph G { goal=a graph [goal=b] }").goal == "b"
    assert graph_of("digraph G { graph [goal=b] goal=a }").goal == "a"


def test_a_subgraph_keeps_its_label_and_gives_away_the_rest() -> None:
    graph = graph_of("digraph G { label=Mine subgraph s { label=Inner color=red goal=g a } }")
    assert (graph.label, graph.goal, graph.text("color")) == ("Mine", "g", None)


def test_root_defaults_hold_for_later_nodes_and_edges() -> None:
    text = "digraph G { a node [timeout=5s] b edge [weight=2] a -> b node [max_visits=3] c }"
    assert [sorted(node_of(text, name).attributes) for name in "abc"] == [
        [],
        ["timeout"],
        ["max_visits", "timeout"],
    ]
    assert graph_of(text).edges[0].weight == 2
    assert graph_of("digraph G { a b a -> b edge [weight=2] }").edges[0].weight == 0


def test_subgraph_defaults_hold_for_the_whole_subgraph_and_end_with_it() -> None:
    text = "digraph G { subgraph s { a -> b node [timeout=5s] edge [weight=2] a subgraph { b } } c a -> c }"
    assert [node_of(text, name).text("timeout") for name in "abc"] == ["5000ms", "5000ms", None]
    assert [edge.weight for edge in graph_of(text).edges] == [2, 0]


def test_redeclaring_merges_and_the_last_wins() -> None:
    node = node_of("digraph G { n [label=a, timeout=1s] n [label=b] }", "n")
    assert (node.label, node.text("timeout")) == ("b", "1000ms")


def test_a_node_is_made_at_its_first_mention_if_it_is_declared_anywhere() -> None:
    text = "digraph G { a -> b node [timeout=5s] subgraph { a } c -> nowhere c }"
    graph = graph_of(text)
    assert list(graph.nodes) == ["a", "c"]
    assert node_of(text, "a").text("timeout") is None
    assert len(graph.edges) == 2


def test_a_chain_shares_its_attributes() -> None:
    graph = graph_of("digraph G { a b c edge [label=d] a -> b -> c [weight=3] }")
    assert [(edge.label, edge.weight) for edge in graph.edges] == [("d", 3), ("d", 3)]


def test_classes() -> None:
    text = """digraph G { node [class="base"] subgraph s { label="Loop A!" a [class="x, base y"] b
      subgraph t { graph [label="Inner"] c subgraph u { d } } } b -> e e }"""
    expected = {
        "a": ("loop-a", "x", "base", "y"),
        "b": ("loop-a", "base"),
        "c": ("inner", "loop-a", "base"),
        "d": ("inner", "loop-a", "base"),
        "e": ("base",),
    }
    assert {name: node_of(text, name).classes for name in expected} == expected


def test_mentioning_a_node_in_a_subgraphs_edge_gives_it_the_class() -> None:
    assert node_of("digraph G { a b subgraph { label=S a -> b } }", "b").classes == ("s",)


@pytest.mark.parametrize(
    ("label", "expected"), [("Loop A", "loop-a"), ("Über 9!", "ber-9"), ("--", "--"), ("é", "")]
)
def test_class_of_label(label: str, expected: str) -> None:
    assert class_of_label(label) == expected


def test_old_names_are_todays() -> None:
    node = node_of("digraph G { n [llm_model=m, llm_provider=p] }", "n")
    assert (node.text("model"), node.text("provider")) == ("m", "p")
    assert node_of("digraph G { n [llm_model=old, model=new] }", "n").text("model") == "new"
    assert graph_of("digraph G { default_max_retry=3 }").integer("default_max_retries") == 3
