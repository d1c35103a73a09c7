import pytest

from fabro.workflow.attributes import SHAPES, TYPE_ALIASES, NodeType
from tests.workflow.graphs import graph_of, node_of


@pytest.mark.parametrize(("shape", "expected"), SHAPES.items())
def test_shapes(shape: str, expected: NodeType) -> None:
    assert node_of(f"digraph G {{ n [shape={shape}] }}", "n").type is expected


@pytest.mark.parametrize("expected", NodeType)
def test_types(expected: NodeType) -> None:
    assert node_of(f'digraph G {{ n [type="{expected}"] }}', "n").type is expected


@pytest.mark.parametrize(("alias", "expected"), TYPE_ALIASES.items())
def test_old_types(alias: str, expected: NodeType) -> None:
    assert node_of(f'digraph G {{ n [type="{alias}"] }}', "n").type is expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("n", NodeType.AGENT),
        ("n [shape=ellipse]", NodeType.AGENT),
        ("n [type=nonsense, shape=tab]", NodeType.PROMPT),
        ("n [type=human, shape=tab]", NodeType.HUMAN),
        ("n [script=x]", NodeType.COMMAND),
        ("n [tool_command=x]", NodeType.COMMAND),
        ("n [script=x, shape=box]", NodeType.AGENT),
        ("n [script=x, shape=ellipse]", NodeType.AGENT),
        ("start", NodeType.START),
        ("Start [shape=box]", NodeType.START),
        ("exit", NodeType.EXIT),
        ("end [shape=box, type=agent]", NodeType.EXIT),
        ("End", NodeType.EXIT),
        ("exit [shape=Mdiamond]", NodeType.START),
        ("START", NodeType.AGENT),
    ],
)
def test_what_wins(node: str, expected: NodeType) -> None:
    (found,) = graph_of(f"digraph G {{ {node} }}").nodes.values()
    assert found.type is expected
