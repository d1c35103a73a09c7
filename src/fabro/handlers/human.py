"""Human gates: a question whose answer chooses the way on. Above: assembly. Below: the contract, questions.

Source: reference/engine.md §7; design §4.8.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from fabro.engine.handler import Park, Result, Settled, StageCall
from fabro.errors import InvalidInput
from fabro.ids import QuestionId
from fabro.json_value import JsonValue
from fabro.run import events as e
from fabro.run.outcome import FailureCategory, Outcome, OutcomeStatus, failed
from fabro.run.question import (
    Answer,
    MultiSelected,
    No,
    Option,
    Question,
    QuestionKind,
    Selected,
    Text,
    Yes,
    option_for,
)
from fabro.run.state import Asked, Inside
from fabro.workflow.graph import Edge, Graph, Node
from fabro.workflow.labels import distinct_keys

AUTO_APPROVED = "auto-approved"
CONTEXT_SHOWN = 4000
"""Characters of the last response that are shown with a question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One option and the edge that it stands for."""

    option: Option
    edge: Edge


class HumanHandler:
    """Asks and waits; what comes back decides the edge."""

    def begin(self, call: StageCall) -> Settled:
        """Ask; with automatic approval or in a dry run also answer.

        Raises:
            InvalidInput: as `question_of`.
        """
        asked = question_of(call)
        started = _started(asked)
        if call.is_dry_run or call.spec.args.auto_approve:
            answer = automatic_answer(asked)
            completed = e.InterviewCompleted(
                stage_id=call.stage_id, question_id=asked.id, answer=answer, actor="auto"
            )
            return Result(outcome=conclude(call.valid.graph, call.node, asked, answer), events=(started, completed))
        return Park(until=_deadline(asked, call.now), events=(started, e.RunBlocked()))

    def resume(self, call: StageCall, inside: Inside) -> Settled:
        """Conclude from the answer, let the time run out, or go on waiting under the same question."""
        asked = inside.asked
        if asked is None:
            return self.begin(call)
        if asked.answer is not None:
            return Result(outcome=conclude(call.valid.graph, call.node, asked.question, asked.answer))
        until = _deadline(asked.question, asked.at)
        if asked.timed_out or (until is not None and call.now >= until):
            return self._run_out(call, asked)
        return Park(until=until)

    def _run_out(self, call: StageCall, asked: Asked) -> Result:
        timeout = e.InterviewTimeout(stage_id=call.stage_id, question_id=asked.question.id)
        events = () if asked.timed_out else (timeout, e.RunUnblocked())
        default = call.node.text("human.default_choice")
        if default is None:
            outcome = failed("nobody answered in time", category=FailureCategory.TRANSIENT_INFRA)
        else:
            outcome = _chosen(call.node, target=default, said="timeout")
        return Result(outcome=outcome, events=events)


def question_of(call: StageCall) -> Question:
    """The question that a gate puts.

    Raises:
        InvalidInput: no outgoing edge, an unknown `question_type`, a default that no edge leads to, or a question
            to be answered with yes that has no such edge.
    """
    node, graph = call.node, call.valid.graph
    edges = graph.outgoing(node.id)
    if not edges:
        raise InvalidInput(f"human gate {node.id!r} has no outgoing edge to choose")
    default = node.text("human.default_choice")
    if default is not None and default not in {edge.target for edge in edges}:
        raise InvalidInput(f"human gate {node.id!r}: human.default_choice is {default!r}, and no edge leads there")
    options = tuple(way.option for way in ways(graph, node))
    timeout = node.duration("timeout")
    question = Question(
        id=QuestionId(call.stage_id),
        stage=call.stage_id,
        text=node.label,
        kind=_kind(node, options),
        options=options,
        allow_freeform=any(edge.freeform for edge in edges),
        timeout_seconds=timeout.total_seconds() if timeout else None,
        context_display=_context_display(call),
    )
    if question.kind in (QuestionKind.YES_NO, QuestionKind.CONFIRMATION) and option_for(question, Yes()) is None:
        raise InvalidInput(f"human gate {node.id!r} asks {question.kind}, and no edge is labelled yes")
    return question


def ways(graph: Graph, node: Node) -> tuple[Way, ...]:
    """The options of a gate with their edges, in the order of the source."""
    edges = [edge for edge in graph.outgoing(node.id) if not edge.freeform]
    labels = [edge.label or edge.target for edge in edges]
    return tuple(
        Way(option=Option(key=key, label=label), edge=edge)
        for key, label, edge in zip(distinct_keys(labels), labels, edges, strict=True)
    )


def automatic_answer(question: Question) -> Answer:
    """The answer of automatic approval: yes, the first option, or the words that say so."""
    if question.kind in (QuestionKind.YES_NO, QuestionKind.CONFIRMATION):
        return Yes()
    if not question.options:
        return Text(text=AUTO_APPROVED)
    first = question.options[0].key
    if question.kind is QuestionKind.MULTI_SELECT:
        return MultiSelected(option_keys=(first,))
    return Selected(option_key=first)


def conclude(graph: Graph, node: Node, question: Question, answer: Answer) -> Outcome:
    """The gate's outcome for an answer that fits its question: it names the edge to take, and no other is taken."""
    match answer:
        case Selected(option_key=key):
            keys = (key,)
        case MultiSelected(option_keys=keys):
            pass
        case Yes() | No():
            option = option_for(question, answer)
            keys = (option.key,) if option else ()
        case Text(text=text):
            freeform = next((edge for edge in graph.outgoing(node.id) if edge.freeform), None)
            return _chosen(node, target=freeform.target if freeform else None, key="freeform", said=text, text=text)
    chosen = [way for way in ways(graph, node) if way.option.key in keys]
    return _chosen(
        node,
        target=chosen[0].edge.target if chosen else None,
        edge_label=chosen[0].edge.label if chosen else None,
        key=",".join(way.option.key for way in chosen),
        said=", ".join(way.option.label for way in chosen),
    )


def _kind(node: Node, options: tuple[Option, ...]) -> QuestionKind:
    named = node.text("question_type")
    if named is None:
        return QuestionKind.MULTIPLE_CHOICE if options else QuestionKind.FREEFORM
    if named not in set(QuestionKind):
        known = ", ".join(QuestionKind)
        raise InvalidInput(f"human gate {node.id!r}: question_type is {named!r}; wanted one of {known}")
    return QuestionKind(named)


def _chosen(
    node: Node,
    *,
    target: str | None,
    said: str,
    edge_label: str | None = None,
    key: str | None = None,
    text: str | None = None,
) -> Outcome:
    updates: dict[str, JsonValue] = {f"human.gate.{node.id}.answer": said}
    if key is not None:
        updates |= {"human.gate.selected": key, "human.gate.label": said}
    if text is not None:
        updates["human.gate.text"] = text
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        preferred_label=edge_label,
        suggested_next=(target,) if target else (),
        context_updates=updates,
    )


def _started(asked: Question) -> e.InterviewStarted:
    return e.InterviewStarted(
        stage_id=asked.stage,
        question_id=asked.id,
        question=asked.text,
        question_type=asked.kind,
        options=asked.options,
        allow_freeform=asked.allow_freeform,
        timeout_seconds=asked.timeout_seconds,
        context_display=asked.context_display,
    )


def _deadline(question: Question, asked_at: datetime) -> datetime | None:
    seconds = question.timeout_seconds
    return None if seconds is None else asked_at + timedelta(seconds=seconds)


def _context_display(call: StageCall) -> str | None:
    last = call.state.context.get("last_stage")
    response = call.state.context.get(f"response.{last}")
    return response[:CONTEXT_SHOWN] if isinstance(response, str) else None
