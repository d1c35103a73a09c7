"""The rules that a graph must keep, one small function each. Above: validate. Below: graph, diagnostics.

A rule takes a graph, whatever state it is in, and gives its findings. Source: reference/engine.md §10.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from fabro.workflow.diagnostics import Diagnostic
from fabro.workflow.graph import Graph
from fabro.workflow.rules import edges, flow, gates, later, nodes, values

Rule: TypeAlias = Callable[[Graph], Iterator[Diagnostic]]

RULES: tuple[Rule, ...] = (
    flow.start_node,
    flow.terminal_node,
    flow.edge_target_exists,
    flow.start_no_incoming,
    flow.exit_no_outgoing,
    flow.reachability,
    flow.all_conditional_edges,
    edges.condition_syntax,
    edges.old_outcome_word,
    edges.orphan_custom_outcome,
    edges.human_requires_edges,
    edges.freeform_edge_count,
    edges.duplicate_accelerator,
    gates.default_choice_leads_on,
    gates.yes_leads_on,
    nodes.type_known,
    nodes.import_unsupported,
    nodes.command_requires_script,
    nodes.script_prompt_conflict,
    nodes.prompt_on_llm_nodes,
    nodes.wait_requires_duration,
    nodes.stdin_source_valid,
    nodes.script_absolute_cd,
    nodes.reserved_keyword_node_id,
    nodes.inert_attribute,
    nodes.retry_target_exists,
    nodes.goal_gate_has_retry,
    nodes.goal_gate_can_fail,
    values.choice_valid,
    values.graph_choices,
    values.detemplated_attribute,
    later.not_effective_yet,
)
