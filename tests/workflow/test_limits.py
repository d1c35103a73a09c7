import pytest

from fabro.workflow.limits import MAX_DEFAULTS, MAX_EDGES, MAX_NODES
from tests.workflow.graphs import rules_of, whole


def numbered(count: int, form: str = "n{}") -> list[str]:
    return [form.format(number) for number in range(count)]


@pytest.mark.parametrize(
    ("head", "body", "what"),
    [
        ("", " ".join(numbered(MAX_NODES)), "nodes"),
        ("", "a " + " -> ".join(["a"] * (MAX_EDGES + 2)), "edges"),
        (f"node [{','.join(numbered(MAX_DEFAULTS + 1, 'k{}=1'))}]", "start -> exit", "defaults"),
        ("subgraph { " + " ".join(numbered(MAX_DEFAULTS + 1, "edge [k{}=1]")) + " }", "start -> exit", "defaults"),
    ],
)
def test_over_a_limit(head: str, body: str, what: str) -> None:
    assert rules_of(whole(body, head)) == {"graph_too_large": "error"}, what


def test_at_a_limit() -> None:
    defaults = f"node [{','.join(numbered(MAX_DEFAULTS, 'k{}=1'))}]"
    assert "graph_too_large" not in rules_of(whole("start -> exit", defaults))
