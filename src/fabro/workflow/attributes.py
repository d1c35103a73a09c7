"""The words of the language: node types, and the one table of attributes. Above: build, rules, every handler.
Below: nothing.

Sources: reference/engine.md §2 (nodes), §3 (retries and limits), §4 to §7 (edges, fidelity, parallel, human), §10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

AttributeValue: TypeAlias = str | int | float | bool | timedelta

OUTCOME_WORDS = ("succeeded", "partially_succeeded", "failed", "skipped")
"""The four ends of a stage, as conditions spell them."""
OUTCOME_ALIASES: Mapping[str, str] = {
    "success": "succeeded",
    "partial_success": "partially_succeeded",
    "fail": "failed",
}


class NodeType(StrEnum):
    """What a node does."""

    START = "start"
    EXIT = "exit"
    AGENT = "agent"
    PROMPT = "prompt"
    HUMAN = "human"
    CONDITIONAL = "conditional"
    PARALLEL = "parallel"
    FAN_IN = "parallel.fan_in"
    COMMAND = "command"
    MANAGER_LOOP = "stack.manager_loop"
    WAIT = "wait"


SHAPES: Mapping[str, NodeType] = {
    "Mdiamond": NodeType.START,
    "Msquare": NodeType.EXIT,
    "box": NodeType.AGENT,
    "tab": NodeType.PROMPT,
    "hexagon": NodeType.HUMAN,
    "diamond": NodeType.CONDITIONAL,
    "component": NodeType.PARALLEL,
    "tripleoctagon": NodeType.FAN_IN,
    "parallelogram": NodeType.COMMAND,
    "house": NodeType.MANAGER_LOOP,
    "insulator": NodeType.WAIT,
}
SHAPE_OF: Mapping[NodeType, str] = {node_type: shape for shape, node_type in SHAPES.items()}
START_IDS = frozenset({"start", "Start"})
EXIT_IDS = frozenset({"exit", "Exit", "end", "End"})
TYPE_ALIASES: Mapping[str, NodeType] = {
    "codergen": NodeType.AGENT,
    "wait.human": NodeType.HUMAN,
    "tool": NodeType.COMMAND,
}


class Kind(StrEnum):
    """How an attribute's value is read, however it is written."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    DURATION = "duration"


class Scope(StrEnum):
    """What an attribute belongs to."""

    GRAPH = "graph"
    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True, kw_only=True)
class AttributeSpec:
    """One row of the table. `node_types` is None where the attribute means something for every node."""

    name: str
    scope: Scope
    meaning: str
    kind: Kind = Kind.TEXT
    node_types: frozenset[NodeType] | None = None
    default: AttributeValue | None = None
    choices: tuple[str, ...] = ()


FIDELITIES = ("full", "truncate", "compact", "summary:low", "summary:medium", "summary:high")

_MODEL_CALLERS = frozenset({NodeType.AGENT, NodeType.PROMPT, NodeType.FAN_IN})
_TALKERS = frozenset({NodeType.AGENT, NodeType.PROMPT})
_AGENT = frozenset({NodeType.AGENT})
_COMMAND = frozenset({NodeType.COMMAND})
_HUMAN = frozenset({NodeType.HUMAN})
_PARALLEL = frozenset({NodeType.PARALLEL})
_MANAGER = frozenset({NodeType.MANAGER_LOOP})


def _graph(name: str, meaning: str, kind: Kind = Kind.TEXT, default: AttributeValue | None = None) -> AttributeSpec:
    return AttributeSpec(name=name, scope=Scope.GRAPH, meaning=meaning, kind=kind, default=default)


def _node(
    name: str,
    meaning: str,
    kind: Kind = Kind.TEXT,
    default: AttributeValue | None = None,
    *,
    only: frozenset[NodeType] | None = None,
    choices: tuple[str, ...] = (),
) -> AttributeSpec:
    return AttributeSpec(
        name=name, scope=Scope.NODE, meaning=meaning, kind=kind, default=default, node_types=only, choices=choices
    )


def _edge(
    name: str,
    meaning: str,
    kind: Kind = Kind.TEXT,
    default: AttributeValue | None = None,
    choices: tuple[str, ...] = (),
) -> AttributeSpec:
    return AttributeSpec(name=name, scope=Scope.EDGE, meaning=meaning, kind=kind, default=default, choices=choices)


TABLE: tuple[AttributeSpec, ...] = (
    _graph("goal", "what the run is for; a template, or `@file`"),
    _graph("label", "the name that people see"),
    _graph("rankdir", "the direction of the drawing: TB, LR, BT or RL"),
    _graph("model_stylesheet", "rules that choose models for nodes by shape, class or id"),
    _graph("default_model", "the model of nodes that name none"),
    _graph("default_provider", "the provider of nodes that name none"),
    _graph(
        "default_fidelity", "how much of the past a prompt sees where no edge or node says", Kind.TEXT, "compact"
    ),
    _graph("default_thread", "the conversation of nodes that name none"),
    _graph("default_max_retries", "retries of nodes that name none", Kind.INTEGER, 0),
    _graph("max_node_visits", "how often any node may run; 0 for no limit", Kind.INTEGER, 0),
    _graph("retry_target", "where a failed goal gate or stage goes"),
    _graph("fallback_retry_target", "where it goes when the first target does not exist"),
    _graph("loop_restart_signature_limit", "how often the same failure may come back", Kind.INTEGER, 3),
    _graph("stall_timeout", "how long nothing may happen; 0 for no limit", Kind.DURATION, timedelta(seconds=1800)),
    _node("label", "the name that people see; an agent's prompt where it has none"),
    _node("shape", "the drawn shape, which also gives the type"),
    _node("type", "what the node does"),
    _node("class", "words by which stylesheets find the node"),
    _node("import", "a workflow file to splice in"),
    _node("timeout", "how long one attempt may take", Kind.DURATION),
    _node("max_visits", "how often the node may run", Kind.INTEGER),
    _node("max_retries", "further attempts after the first", Kind.INTEGER),
    _node(
        "retry_policy",
        "a named plan of attempts and pauses",
        choices=("none", "standard", "aggressive", "linear", "patient"),
    ),
    _node("retry_target", "where the run goes when this stage or its goal gate fails"),
    _node("fallback_retry_target", "where it goes when the first target does not exist"),
    _node("goal_gate", "whether the run may end only after this node succeeded", Kind.FLAG, default=False),
    _node("auto_status", "whether a failed stage counts as succeeded", Kind.FLAG, default=False),
    _node("allow_partial", "whether used-up retries end as partly succeeded", Kind.FLAG, default=False),
    _node(
        "selection",
        "how one of several matching edges is taken",
        default="deterministic",
        choices=("deterministic", "random"),
    ),
    _node("fidelity", "how much of the past the prompt sees", choices=FIDELITIES),
    _node("thread_id", "the conversation that the node continues"),
    _node("prompt", "what the model is asked; a template, or `@file`", only=_MODEL_CALLERS),
    _node("model", "the model", only=_MODEL_CALLERS),
    _node("provider", "the model's provider", only=_MODEL_CALLERS),
    _node("reasoning_effort", "how long the model may think", only=_MODEL_CALLERS),
    _node("speed", "the model's speed tier", only=_MODEL_CALLERS),
    _node("max_tokens", "the longest answer, in tokens", Kind.INTEGER, only=_MODEL_CALLERS),
    _node(
        "output_schema", "the form of the answer: `routing`, a JSON Schema, or `@file`", only=_TALKERS | _COMMAND
    ),
    _node("output_retries", "how often an answer of the wrong form is sent back", Kind.INTEGER, 2, only=_TALKERS),
    _node(
        "project_memory", "whether the project's notes for agents are read", Kind.FLAG, default=True, only=_TALKERS
    ),
    _node("backend", "what runs the agent", default="api", only=_AGENT),
    _node("acp.command", "the command of an agent that speaks ACP", only=_AGENT),
    _node("acp.config", "the configured agent that speaks ACP", only=_AGENT),
    _node("script", "what the command runs", only=_COMMAND),
    _node("language", "the script's language", default="shell", only=_COMMAND, choices=("shell", "python")),
    _node("stdin_source", "the context key whose value the script reads", only=_COMMAND),
    _node("duration", "how long to wait", Kind.DURATION, only=frozenset({NodeType.WAIT})),
    _node("max_parallel", "how many branches run at a time", Kind.INTEGER, 4, only=_PARALLEL),
    _node(
        "join_policy",
        "when the branches count as done",
        default="wait_all",
        only=_PARALLEL,
        choices=("wait_all", "first_success"),
    ),
    _node(
        "isolation",
        "whether each branch has a work tree of its own",
        default="shared",
        only=_PARALLEL,
        choices=("shared", "worktree"),
    ),
    _node("for_each", "the context key of a list; each of its items gets a branch", only=_PARALLEL),
    _node(
        "question_type",
        "the kind of question",
        only=_HUMAN,
        choices=("yes_no", "confirmation", "multiple_choice", "multi_select", "freeform"),
    ),
    _node("human.default_choice", "the node to go to when nobody answers in time", only=_HUMAN),
    _node(
        "review_target",
        "whether the question is about a document that the context names",
        Kind.FLAG,
        default=False,
        only=_HUMAN,
    ),
    _node("stack.child_workflow", "the workflow file to run as a child", only=_MANAGER),
    _node("stack.child_dot_source", "the child workflow itself, as text", only=_MANAGER),
    _node(
        "manager.poll_interval",
        "how often the stop condition is looked at",
        Kind.DURATION,
        timedelta(seconds=45),
        only=_MANAGER,
    ),
    _node("manager.max_cycles", "how often at most", Kind.INTEGER, 1000, only=_MANAGER),
    _node("manager.stop_condition", "the condition that ends the child early", only=_MANAGER),
    _edge("label", "the name that people see, and that a stage may prefer"),
    _edge("condition", "when the edge may be taken"),
    _edge("weight", "which of several possible edges goes first: the heaviest", Kind.INTEGER, 0),
    _edge("freeform", "whether a person's own words lead along this edge", Kind.FLAG, default=False),
    _edge("loop_restart", "whether the run starts over along this edge", Kind.FLAG, default=False),
    _edge("fidelity", "how much of the past the next prompt sees", choices=FIDELITIES),
    _edge("thread_id", "the conversation that the next node continues"),
)
SPECS: Mapping[Scope, Mapping[str, AttributeSpec]] = {
    scope: {spec.name: spec for spec in TABLE if spec.scope is scope} for scope in Scope
}
INPUT_PREFIX = "inputs."
"""`inputs.NAME` on a child workflow's node gives the child that input (design §4.11)."""

ALIASES: Mapping[Scope, Mapping[str, str]] = {
    Scope.GRAPH: {"default_max_retry": "default_max_retries"},
    Scope.NODE: {"tool_command": "script", "llm_model": "model", "llm_provider": "provider"},
    Scope.EDGE: {},
}
"""Names of the older specification, and what they are called now."""

DRAWING = frozenset(
    [
        "arrowhead",
        "arrowsize",
        "arrowtail",
        "bgcolor",
        "center",
        "clusterrank",
        "color",
        "colorscheme",
        "comment",
        "compound",
        "concentrate",
        "constraint",
        "decorate",
        "dir",
        "dpi",
        "fillcolor",
        "fixedsize",
        "fontcolor",
        "fontname",
        "fontsize",
        "group",
        "headlabel",
        "headport",
        "height",
        "href",
        "id",
        "image",
        "labelangle",
        "labeldistance",
        "labelfontcolor",
        "labelfontname",
        "labelfontsize",
        "labeljust",
        "labelloc",
        "layout",
        "len",
        "lhead",
        "ltail",
        "margin",
        "minlen",
        "newrank",
        "nodesep",
        "nojustify",
        "ordering",
        "orientation",
        "outputorder",
        "overlap",
        "pad",
        "page",
        "pencolor",
        "penwidth",
        "peripheries",
        "pos",
        "quantum",
        "rank",
        "ranksep",
        "ratio",
        "regular",
        "rotate",
        "samehead",
        "sametail",
        "sep",
        "sides",
        "size",
        "skew",
        "splines",
        "style",
        "stylesheet",
        "tailport",
        "target",
        "taillabel",
        "tooltip",
        "URL",
        "viewport",
        "width",
        "xlabel",
    ]
)
"""Attributes of the drawing alone: known, kept as text, without a meaning for a run."""
