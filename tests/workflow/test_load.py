import gc
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.workflow.load import load
from tests.workflow.graphs import line, node_of, valid_of, whole


def places(text: str, files: dict[str, str] | None = None) -> list[tuple[str, str]]:
    found = load("w.fabro", {"w.fabro": text, **(files or {})}).diagnostics
    return [(diagnostic.rule, diagnostic.place) for diagnostic in found]


def test_files_take_the_place_of_their_names() -> None:
    text = line('prompt="@p/a.md", output_schema="@s.json"', 'goal="@goal.md"')
    valid = valid_of(text, {"p/a.md": "\ufeffdo\r\nit", "s.json": "{}", "goal.md": "the goal"})
    node = next(node for node in valid.graph.nodes.values() if node.id == "n")
    assert (valid.graph.goal, node.prompt_text, node.text("output_schema")) == ("the goal", "do\nit", "{}")


def test_references_are_relative_to_the_graph() -> None:
    loaded = load("a/w.fabro", {"a/w.fabro": line('prompt="@../b/p.md"'), "b/p.md": "x"})
    assert loaded.valid is not None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (line('prompt="a\\nb {{ nope }}"'), ("template_undefined_variable", "w.fabro:5:20")),
        (line('prompt="a\n  b {{ nope }}"'), ("template_undefined_variable", "w.fabro:6:8")),
        (whole('start -> exit\nstart -> exit [condition="a && && b"]'), ("condition_syntax", "w.fabro:6:32")),
        (whole("start -> exit\nstart -> nowhere"), ("edge_target_exists", "w.fabro:6:10")),
        (line("label=x, max_retries=many"), ("unreadable_value", "w.fabro:5:13")),
        (line('script="x {{ env.A }}"'), ("script_secret_token", "w.fabro:5:14")),
    ],
)
def test_findings_stand_where_the_fault_is(text: str, place: tuple[str, str]) -> None:
    assert place in places(text)


def test_findings_in_other_files_name_them() -> None:
    assert places(line('prompt="@p.md"'), {"p.md": "x\n y {{ nope }}"}) == [
        ("template_undefined_variable", "p.md:2:7")
    ]
    included = {"p.md": "{% include 'q.md' %}", "q.md": "{{ x }}"}
    assert places(line('prompt="@p.md"'), included) == [("template_undefined_variable", "q.md:1:4")]


def test_what_cannot_be_read_has_no_graph() -> None:
    for loaded in (load("w.fabro", {}), load("w.fabro", {"w.fabro": "digraph"})):
        assert loaded.graph is None
        assert loaded.valid is None
        assert loaded.diagnostics


def test_a_valid_graph_knows_its_ends_and_its_warnings() -> None:
    valid = valid_of("digraph G { begin [shape=Mdiamond] n done [type=exit] begin -> n -> done }")
    assert (valid.start, valid.exits) == ("begin", {"done"})
    assert [warning.rule for warning in valid.warnings] == ["prompt_on_llm_nodes"]
    assert node_of("digraph G { n }", "n").prompt_text == "n"


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "start",
        "exit",
        "->",
        "[",
        "]",
        "label",
        "prompt",
        "shape",
        "=",
        "Mdiamond",
        "hexagon",
        '"{{ goal }}"',
        '"@x"',
        ";",
        "subgraph {",
        "}",
        "node",
        "edge",
        "graph",
        "condition",
        '"outcome=failed"',
        '"a &&"',
        "5m",
        "weight",
        "type",
        "goal_gate",
        "true",
        "timeout",
        "script",
        ",",
        "class",
        '"{{ x"',
        "retry_target",
        "stack.child_workflow",
    ]
)


@given(st.lists(PIECES, max_size=50).map(" ".join))
def test_anything_is_loaded_or_told(body: str) -> None:
    loaded = load("w.fabro", {"w.fabro": f"digraph G {{ {body} }}"})
    assert (loaded.valid is None) == any(diagnostic.severity == "error" for diagnostic in loaded.diagnostics)
    if loaded.valid is not None:
        graph = loaded.valid.graph
        assert all(edge.source in graph.nodes and edge.target in graph.nodes for edge in graph.edges)
        assert loaded.valid.start in graph.nodes
        assert len(loaded.valid.exits) == 1


def seconds_for(text: str) -> float:
    gc.collect()
    started = process_time()
    load("w.fabro", {"w.fabro": text})
    return process_time() - started


@pytest.mark.slow
def test_a_large_graph_is_quick() -> None:
    nodes = "\n".join(f'n{n} [label="Step {n}", prompt="Do {{{{ goal }}}}"]' for n in range(1000))
    edges = "\n".join(f"n{n} -> n{n + 1}" for n in range(999))
    text = whole(f"{nodes}\n{edges}\nstart -> n0\nn999 -> exit")
    valid_of(text)
    assert min(seconds_for(text) for _ in range(3)) < 0.6


@pytest.mark.parametrize(
    "statement",
    [
        "start -> m{n}",
        "n{n} [zzz{n}=1]",
        "n{n} [retry_target=m{n}]",
        "n{n} [type=t{n}]",
        'start -> exit [condition="k=v{n}"]',
        'start -> exit [condition="outcome=o{n}"]',
        "n{n} [shape=hexagon] n{n} -> exit",
        'n{n} [prompt="{{{{ x{n} }}}}"]',
        'n{n} [prompt="@f{n}"]',
    ],
)
@pytest.mark.slow
def test_many_findings_take_linear_time(statement: str) -> None:
    few, many = ("\n".join(statement.format(n=n) for n in range(count)) for count in (250, 1000))
    assert seconds_for(whole(many)) < 10 * seconds_for(whole(few)) + 0.2
