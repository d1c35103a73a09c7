"""Human gates: an answer leads along the edge that it chose and along no other."""

import pytest

from fabro.calls import RunIntent
from fabro.errors import InvalidInput
from fabro.ids import RunId
from fabro.run.events import StageStarted
from fabro.run.question import Answer, MultiSelected, No, Selected, Text, Yes
from fabro.run.target import NoTarget
from fabro.testing.memory_system import memory_system, register

pytestmark = pytest.mark.anyio

NODES = "start [shape=Mdiamond] exit [shape=Msquare] a [shape=diamond] b [shape=diamond] a -> exit b -> exit"


async def answered(gate: str, edges: str, answer: Answer) -> tuple[str, list[str]]:
    """The run's end, and the nodes that it visited, for a gate that gets one answer."""
    async with memory_system() as system:
        calls = system.operations("test")
        version = await register(calls, f"digraph W {{ {NODES} g [shape=hexagon{gate}] start -> g {edges} }}")
        run = await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))
        await calls.runs.start(run.id)
        waited = await calls.runs.wait([run.id], until="blocked", timeout_seconds=10)
        if waited.runs[0].open_questions:
            await calls.questions.answer(run.id, waited.runs[0].open_questions[0], answer)
        waited = await calls.runs.wait([run.id], until="terminal", timeout_seconds=10)
        stored = await system.parts.store.read(RunId(run.id))
        started = [one.event for one in stored if isinstance(one.event, StageStarted)]
        visited = [event.stage_id.partition("@")[0] for event in started]
        return str(waited.runs[0].lifecycle.status), visited


@pytest.mark.parametrize(
    ("edges", "answer", "taken"),
    [
        ('g -> a [label="Go on"] g -> b [label="Go on"]', Selected(option_key="G2"), "b"),
        ('g -> a [label="[P] Proceed"] g -> b [label="[C] proceed"]', Selected(option_key="C"), "b"),
        ('g -> a [label="Go"] g -> b [label="Stop", condition="context.x=1"]', Selected(option_key="S"), "b"),
        ('g -> a [label="Go", condition="outcome=succeeded"] g -> b [label="Stop"]', Text(text="stop"), "b"),
        ("g -> a g -> b [weight=9]", Text(text="a"), "a"),
        ("g -> a [label=Go] g -> b [freeform=true]", Text(text="whatever else"), "b"),
        ("g -> a [label=Go] g -> b [freeform=true]", Text(text="go"), "a"),
    ],
)
async def test_an_answer_leads_along_the_edge_that_it_chose(edges: str, answer: Answer, taken: str) -> None:
    status, visited = await answered("", edges, answer)
    assert status == "succeeded(completed)"
    assert visited == ["start", "g", taken]


async def test_of_two_edges_to_one_node_the_chosen_one_is_followed() -> None:
    edges = 'g -> a [label="[X] One"] g -> a [label="[Y] Two"]'
    assert (await answered("", edges, Selected(option_key="Y")))[1] == ["start", "g", "a"]


@pytest.mark.parametrize(
    ("edges", "answer", "taken"),
    [
        ("g -> a [label=No] g -> b [label=Yes]", Yes(), "b"),
        ("g -> a [label=No] g -> b [label=Yes]", No(), "a"),
        ('g -> a [label="[N] Rather not"] g -> b [label="[Y] Please"]', Text(text="y"), "b"),
    ],
)
async def test_yes_and_no_lead_where_it_says_so(edges: str, answer: Answer, taken: str) -> None:
    assert (await answered(", question_type=yes_no", edges, answer))[1] == ["start", "g", taken]


@pytest.mark.parametrize(
    ("gate", "edges", "answer"),
    [
        (", question_type=confirmation", "g -> a [label=Yes]", No()),
        (
            ", question_type=freeform",
            "g -> a [label=Approve] g -> b [label=Reject]",
            Text(text="no, please do not"),
        ),
        (", question_type=multi_select", "g -> a [label=Go] g -> b [label=Stop]", MultiSelected(option_keys=())),
        (", question_type=multi_select", "g -> a [label=Go]", MultiSelected(option_keys=("G", "Z"))),
        ("", "g -> a [label=Go]", Yes()),
        ("", "g -> a [label=Go]", Text(text="  ")),
        ("", "g -> a [label=Go] g -> b [freeform=true]", Text(text=" ")),
    ],
)
async def test_an_answer_that_leads_nowhere_is_refused(gate: str, edges: str, answer: Answer) -> None:
    with pytest.RaisesGroup(InvalidInput, flatten_subgroups=True, allow_unwrapped=True):
        await answered(gate, edges, answer)


async def test_several_options_lead_along_the_first() -> None:
    edges = "g -> a [label=Go] g -> b [label=Stop]"
    _, visited = await answered(", question_type=multi_select", edges, MultiSelected(option_keys=("S", "G")))
    assert visited == ["start", "g", "a"]
