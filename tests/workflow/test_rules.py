# ruff: noqa: E501 - one case to a line
"""Every rule: a graph that breaks it, and the same graph with the fix applied, which no longer does."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from fabro.workflow.load import load
from tests.workflow.graphs import line, rules_of, whole

ERROR, WARNING, HINT = "error", "warning", "hint"


@dataclass(frozen=True)
class Case:
    rule: str
    severity: str
    broken: str
    fixed: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    added: Mapping[str, str] = field(default_factory=dict[str, str])


def conditions(*texts: str) -> str:
    edges = "\n".join(
        f'n -> {target} [condition="{text}"]' for text, target in zip(texts, ("exit", "n"), strict=False)
    )
    return f"n [label=x]\nstart -> n\n{edges}"


def gate(extra: str = "", edges: str = "n -> exit") -> str:
    return whole(f"n [label=x, goal_gate=true, retry_target=n{extra}]\nstart -> n\n{edges}")


HUMAN = "n [shape=hexagon, label=x]\na [label=x]\nb [label=x]\nstart -> n\na -> exit\nb -> exit\n"

CASES = [
    Case("start_node", ERROR, "digraph G { a [label=x] exit a -> exit }", "digraph G { start [shape=Mdiamond] a [label=x] exit start -> a -> exit }"),
    Case("start_node", ERROR, whole("Start [label=x]\nstart -> exit\nStart -> exit"), whole("first [label=x]\nstart -> exit\nfirst -> exit")),
    Case("terminal_node", ERROR, "digraph G { start a [label=x] start -> a }", "digraph G { start a [label=x] exit [shape=Msquare] start -> a -> exit }"),
    Case("terminal_node", ERROR, whole("start -> exit\nend\nstart -> end"), whole("start -> exit\nstart -> exit")),
    Case("edge_target_exists", ERROR, whole("review [label=x]\nstart -> reveiw -> exit\nstart -> review"), whole("review [label=x]\nstart -> review -> exit\nstart -> review")),
    Case("edge_target_exists", ERROR, whole("start -> zzz -> exit"), whole('zzz [label="x"]\nstart -> zzz -> exit')),
    Case("start_no_incoming", ERROR, whole("n [label=x]\nstart -> n -> exit\nn -> start"), whole("n [label=x]\nstart -> n -> exit\nn -> n")),
    Case("exit_no_outgoing", ERROR, whole("n [label=x]\nstart -> n -> exit\nexit -> n"), whole("n [label=x]\nstart -> n -> exit")),
    Case("reachability", WARNING, whole("n [label=x]\nstart -> exit\nn -> exit"), whole("n [label=x]\nstart -> exit\nstart -> n -> exit")),
    Case("all_conditional_edges", ERROR, whole(conditions("outcome=failed")), whole(conditions("outcome=failed") + "\nn -> exit")),
    Case("all_conditional_edges", ERROR, whole(conditions("a=1", "a=2")), whole(conditions("a=1", "a!=1"))),
    Case("condition_syntax", ERROR, whole(conditions("outcome=") + '\nn -> exit [condition="a &&"]\nn -> exit'), whole(conditions("outcome!=failed") + "\nn -> exit")),
    Case("condition_syntax", ERROR, whole(conditions("a matches [") + "\nn -> exit"), whole(conditions("a matches x") + "\nn -> exit")),
    Case("old_name", HINT, whole(conditions("outcome=success") + "\nn -> n"), whole(conditions("outcome=succeeded") + "\nn -> n")),
    Case("old_name", HINT, line("type=codergen, label=x"), line("type=agent, label=x")),
    Case("old_name", HINT, line("tool_command=ls"), line("script=ls")),
    Case("old_name", HINT, line("llm_model=m, label=x"), line("model=m, label=x")),
    Case("old_name", HINT, line('prompt="do $goal"'), line('prompt="do {{ goal }}"')),
    Case("orphan_custom_outcome", WARNING, whole(conditions("outcome=done") + "\nn -> n"), whole(conditions("outcome=succeeded") + "\nn -> n")),
    Case("human_requires_edges", ERROR, whole("n [shape=hexagon, label=x]\nstart -> n\nstart -> exit"), whole('n [shape=hexagon, label=x]\nstart -> n\nn -> exit [label="[Y] Yes"]')),
    Case("freeform_edge_count", ERROR, whole(HUMAN + "n -> a [freeform=true]\nn -> b [freeform=true]"), whole(HUMAN + "n -> a [freeform=true]\nn -> b")),
    Case("default_choice_valid", ERROR, whole(HUMAN.replace("label=x]", "label=x, human.default_choice=c]", 1) + "n -> a\nn -> b [label=B]"), whole(HUMAN.replace("label=x]", "label=x, human.default_choice=a]", 1) + "n -> a\nn -> b [label=B]")),
    Case("yes_no_options", ERROR, whole(HUMAN.replace("label=x]", "label=x, question_type=yes_no]", 1) + "n -> a [label=Abort]\nn -> b [label=Continue]"), whole(HUMAN.replace("label=x]", "label=x, question_type=yes_no]", 1) + "n -> a [label=No]\nn -> b [label=Yes]")),
    Case("not_effective_yet", WARNING, line("script=ls, max_retries=3"), line("script=ls")),
    Case("not_effective_yet", WARNING, whole("graph [stall_timeout=5m]\nstart -> exit"), whole("start -> exit")),
    Case("duplicate_accelerator", WARNING, whole(HUMAN + "n -> a [label=Ship]\nn -> b [label=Stop]"), whole(HUMAN + 'n -> a [label=Ship]\nn -> b [label="[T] Stop"]')),
    Case("type_known", WARNING, line("type=agnet, label=x"), line("type=agent, label=x")),
    Case("type_known", WARNING, line("type=zzz, label=x"), line("type=agent, label=x")),
    Case("import_unsupported", ERROR, line('import="./x.fabro", label=x'), line('shape=house, label=x, stack.child_workflow="x.fabro"')),
    Case("command_requires_script", ERROR, line("shape=parallelogram"), line("shape=parallelogram, script=ls")),
    Case("command_requires_script", ERROR, line('shape=parallelogram, script="  "'), line("shape=parallelogram, script=ls")),
    Case("script_prompt_conflict", ERROR, line("script=ls, prompt=x"), line("script=ls")),
    Case("prompt_on_llm_nodes", WARNING, line(""), line("prompt=x")),
    Case("prompt_on_llm_nodes", WARNING, line("shape=tab"), line("shape=tab, label=x")),
    Case("wait_requires_duration", ERROR, line("shape=insulator"), line("shape=insulator, duration=5m")),
    Case("wait_requires_duration", ERROR, line("shape=insulator, duration=soon"), line('shape=insulator, duration="5m"')),
    Case("stdin_source_valid", ERROR, line('script=ls, stdin_source=" "'), line('script=ls, stdin_source="command.output"')),
    Case("script_absolute_cd", WARNING, line('script="cd /tmp && ls"'), line('script="cd tmp && ls"')),
    Case("reserved_keyword_node_id", WARNING, whole("If [label=x]\nstart -> If -> exit"), whole("If_node [label=x]\nstart -> If_node -> exit")),
    Case("inert_attribute", WARNING, line("label=x, script=ls, shape=box"), line("label=x, script=ls, shape=parallelogram")),
    Case("inert_attribute", WARNING, line("label=x, duration=5m"), line("label=x")),
    Case("retry_target_exists", WARNING, line("label=x, retry_target=m"), line("label=x, retry_target=n")),
    Case("retry_target_exists", WARNING, line("label=x", "fallback_retry_target=zzz"), line("label=x", "fallback_retry_target=n")),
    Case("goal_gate_has_retry", WARNING, line("script=ls, goal_gate=true"), line('script=ls, goal_gate=true, retry_target="n"')),
    Case("goal_gate_has_retry", WARNING, line("script=ls, goal_gate=true"), line("script=ls, goal_gate=true", "retry_target=n")),
    Case("goal_gate_can_fail", WARNING, gate(), gate(', output_schema="routing"')),
    Case("goal_gate_can_fail", WARNING, gate(), gate(edges='n -> n [condition="outcome=failed"]\nn -> exit')),
    Case("selection_valid", WARNING, line("label=x, selection=any"), line("label=x, selection=random")),
    Case("fidelity_valid", WARNING, line("label=x, fidelity=ful"), line("label=x, fidelity=full")),
    Case("fidelity_valid", WARNING, whole("start -> exit [fidelity=ful]"), whole('start -> exit [fidelity="summary:low"]')),
    Case("fidelity_valid", WARNING, whole("start -> exit", "default_fidelity=x"), whole("start -> exit", "default_fidelity=full")),
    Case("language_valid", ERROR, line("script=ls, language=ruby"), line("script=ls, language=python")),
    Case("choice_valid", ERROR, whole("n [shape=component, join_policy=x]\nstart -> n -> exit"), whole("n [shape=component, join_policy=wait_all]\nstart -> n -> exit")),
    Case("choice_valid", WARNING, line("label=x, retry_policy=x"), line("label=x, retry_policy=standard")),
    Case("direction_valid", WARNING, whole("start -> exit", "rankdir=UP"), whole("start -> exit", "rankdir=LR")),
    Case("detemplated_attribute", WARNING, line('label="{{ goal }}"'), line('label="the goal"')),
    Case("detemplated_attribute", WARNING, whole('start -> exit [label="{% x %}"]'), whole('start -> exit [label="x"]')),
    Case("goal_self_reference", ERROR, line("label=x", 'goal="a {{ goal }}"'), line("label=x", 'goal="a {{ inputs.task }}"')),
    Case("template_undefined_variable", ERROR, line('prompt="a {{ task }}"'), line('prompt="a {{ inputs.task }}"')),
    Case("template_syntax", ERROR, line('prompt="a {{range .Env}}"'), line('prompt="a {% raw %}{{range .Env}}{% endraw %}"')),
    Case("missing_include", ERROR, line("prompt=\"{% include 'x.md' %}\""), line("prompt=\"{% include 'x.md' %}\""), added={"x.md": "x"}),
    Case("script_secret_token", ERROR, line('script="x {{ secrets.KEY }}"'), line('script="x $KEY"')),
    Case("unresolved_file_ref", ERROR, line('prompt="@p.md"'), line('prompt="@p.md"'), added={"p.md": "@x is text here"}),
    Case("unresolved_file_ref", ERROR, line("label=x", 'goal="@g.md"'), line("label=x", 'goal="@g.md"'), added={"g.md": "x"}),
    Case("unresolved_file_ref", ERROR, line('label=x, output_schema="@s.json"'), line('label=x, output_schema="@s.json"'), added={"s.json": "{}"}),
    Case("unresolved_file_ref", ERROR, line('prompt="@../p.md"'), line('prompt="@p.md"'), files={"p.md": "x"}),
    Case("unresolved_file_ref", ERROR, line('prompt="@../../etc/passwd"'), line('prompt="@p.md"'), files={"p.md": "x"}),
    Case("unresolved_file_ref", ERROR, line('prompt="@{{ inputs.x }}.md"'), line('prompt="@p.md"'), files={"p.md": "x"}),
    Case("unresolved_file_ref", ERROR, line('shape=house, label=x, stack.child_workflow="../c.fabro"'), line('shape=house, label=x, stack.child_workflow="c.fabro"')),
    Case("unknown_attribute", WARNING, line("lable=x, prompt=x"), line("label=x, prompt=x")),
    Case("unknown_attribute", WARNING, line("label=x, zzz=1"), line("label=x")),
    Case("unknown_attribute", WARNING, whole("start -> exit [max_retries=2]"), whole("start -> exit")),
    Case("unknown_attribute", WARNING, whole("start -> exit", "max_node_visit=3"), whole("start -> exit", "max_node_visits=3")),
    Case("unreadable_value", WARNING, line("label=x, max_retries=many"), line("label=x, max_retries=3")),
    Case("unreadable_value", WARNING, line('label=x, timeout="soon"'), line('label=x, timeout="90s"')),
    Case("unreadable_value", WARNING, line("script=ls, auto_status=maybe"), line("script=ls, auto_status=true")),
    Case("unreadable_value", WARNING, whole("start -> exit [weight=1.5]"), whole("start -> exit [weight=2]")),
    Case("syntax", ERROR, "digraph G { start -- exit }", "digraph G { start exit start -> exit }"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_broken_graph_is_told_and_the_fix_makes_it_valid(case: Case) -> None:
    found = load("w.fabro", {"w.fabro": case.broken, **case.files})
    (*_, finding) = [diagnostic for diagnostic in found.diagnostics if diagnostic.rule == case.rule]
    assert finding.severity == case.severity
    assert finding.fix
    assert finding.file
    assert finding.span is not None
    assert (found.valid is None) == (case.severity == ERROR)
    mended = load("w.fabro", {"w.fabro": case.fixed, **case.files, **case.added})
    assert mended.valid is not None, mended.diagnostics
    assert case.rule not in {diagnostic.rule for diagnostic in mended.diagnostics}


@pytest.mark.parametrize(
    ("text", "rule", "fix"),
    [
        (whole("review [label=x]\nstart -> reveiw -> exit"), "edge_target_exists", "`review`"),
        (line("lable=x"), "unknown_attribute", "`label`"),
        (line("label=x, max_retry=2"), "unknown_attribute", "`max_retries`"),
        (line("type=promt, label=x"), "type_known", "`prompt`"),
        (line("label=x, weight=2"), "unknown_attribute", "edge"),
        (line("label=x, retry_target=m"), "retry_target_exists", "`n`"),
        (whole(conditions("outcome=failure") + "\nn -> n"), "orphan_custom_outcome", "`failed`"),
    ],
)
def test_did_you_mean(text: str, rule: str, fix: str) -> None:
    found = [
        diagnostic.fix for diagnostic in load("w.fabro", {"w.fabro": text}).diagnostics if diagnostic.rule == rule
    ]
    assert fix in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "digraph W { start [shape=Mdiamond] work [prompt=x] exit [shape=Msquare] start -> work -> exit }",
        "digraph W { start work [prompt=x] end start -> work -> end }",
        line('max_visits="5", goal_gate="true", timeout="900s", label="5m", script=ls, retry_target=n', "max_node_visits=9"),
        line("label=x, color=red, fontname=Arial", "rankdir=LR bgcolor=white"),
        line('shape=house, label=x, stack.child_workflow="c.fabro", inputs.task="x"'),
        line('shape=house, label=x, stack.child_dot_source="digraph C { {{ x }} }"'),
        whole("n [label=x]\nstart -> n -> exit", "node [shape=box, model=m] edge [weight=2]"),
        whole("n [label=x, retry_target=m, script=ls]\nm [label=x]\nstart -> n -> exit\nm -> exit"),
        whole(conditions("outcome=failed", "outcome!=failed")),
        line('script="{{range .Env}} {{ goal }} ${X}"'),
        whole("a [shape=component]\nb [label=x]\nc [shape=tripleoctagon]\nd [shape=diamond]\nstart -> a -> b -> c -> d -> exit"),
    ],
)  # fmt: skip
def test_nothing_to_say(text: str) -> None:
    assert rules_of(text) == {}


def test_every_finding_of_one_file_at_once() -> None:
    text = whole("n [lable=x, max_retries=many, type=zzz]\nstart -> n\nn -> nowhere\nexit -> n")
    assert set(rules_of(text)) >= {
        "unknown_attribute",
        "unreadable_value",
        "type_known",
        "edge_target_exists",
        "exit_no_outgoing",
    }


def test_a_default_is_told_once() -> None:
    found = load("w.fabro", {"w.fabro": whole("a b c\nstart -> exit", "node [zzz=1, label=x]")}).diagnostics
    assert [diagnostic.rule for diagnostic in found].count("unknown_attribute") == 1


def test_one_error_per_missing_node() -> None:
    found = load("w.fabro", {"w.fabro": whole("start -> gone -> exit\nstart -> gone")}).diagnostics
    assert [diagnostic.rule for diagnostic in found].count("edge_target_exists") == 1
