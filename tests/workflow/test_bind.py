import pytest

from fabro.errors import InvalidInput
from fabro.ids import NodeId
from fabro.workflow.bind import bind
from tests.workflow.graphs import line, valid_of

TRICKY = "docker inspect --format '{{range .Config.Env}}{{println .}}{{end}}' {% raw %} {# x #} ${{ secrets.X }}"


def test_the_graphs_own_goal_is_a_template() -> None:
    valid = valid_of(line('prompt="Do {{ goal }}."', 'goal="ship {{ inputs.what }}"'))
    bound = bind(valid, goal=None, inputs={"what": "it"}, variables={})
    assert bound.graph.goal == "ship it"
    assert bound.graph.nodes[NodeId("n")].prompt_text == "Do ship it."
    assert (bound.start, bound.exits) == ("start", {"exit"})


def test_a_given_goal_is_data() -> None:
    valid = valid_of(line('prompt="Do {{ goal }}."', 'goal="ship {{ inputs.what }}"'))
    bound = bind(valid, goal=TRICKY, inputs={}, variables={})
    assert bound.graph.goal == TRICKY
    assert bound.graph.nodes[NodeId("n")].prompt_text == f"Do {TRICKY}."


def test_values_are_not_rendered_again() -> None:
    valid = valid_of(line('prompt="{{ inputs.x }} {{ vars.y | trim }}"'))
    bound = bind(valid, goal=None, inputs={"x": "{{ secrets.API }}"}, variables={"y": "{{ inputs.x }}"})
    assert bound.graph.nodes[NodeId("n")].prompt_text == "{{ secrets.API }} {{ inputs.x }}"


def test_scripts_get_their_tokens() -> None:
    bound = bind(valid_of(line('script="echo {{ goal }} {x}"')), goal="a b", inputs={}, variables={})
    assert bound.graph.nodes[NodeId("n")].text("script") == "echo 'a b' {x}"


def test_no_goal_is_empty() -> None:
    bound = bind(valid_of(line('prompt="[{{ goal }}]"')), goal=None, inputs={}, variables={})
    assert (bound.graph.goal, bound.graph.nodes[NodeId("n")].prompt_text) == ("", "[]")


def test_labels_are_not_templates() -> None:
    bound = bind(valid_of(line('label="{{ goal }}"')), goal="g", inputs={}, variables={})
    assert bound.graph.nodes[NodeId("n")].prompt_text == "{{ goal }}"


@pytest.mark.parametrize(
    ("node", "files", "place"),
    [
        ('prompt="a\n\\"b\\" {{ inputs.nope }}"', {}, "w.fabro:6:10"),
        ('prompt="a {{ inputs.nope | upper }}"', {}, "w.fabro:5:17"),
        ('prompt="@p.md"', {"p.md": "x\ny {{ inputs.nope }}"}, "p.md:2:6"),
        ('prompt="@p.md"', {"p.md": "{% include 'q.md' %}", "q.md": "{{ inputs.nope | trim }}"}, "q.md:1:4"),
        ('script="echo {{ inputs.nope }}"', {}, "w.fabro:5:20"),
    ],
)
def test_an_undefined_variable_is_told_with_its_place(node: str, files: dict[str, str], place: str) -> None:
    valid = valid_of(line(node), files)
    with pytest.raises(InvalidInput) as caught:
        bind(valid, goal=None, inputs={}, variables={})
    error = caught.value
    assert error.code == "template_undefined_variable"
    assert error.message.startswith(f"{place}: ")
    assert "inputs.nope" in error.message
    assert error.hint is not None
    assert "nope" in error.hint
    bind(valid, goal=None, inputs={"nope": "1"}, variables={})


def test_a_nul_byte_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"inputs\.x"):
        bind(valid_of(line("label=a")), goal=None, inputs={"x": "a\0b"}, variables={})
