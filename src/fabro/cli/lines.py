"""Events as lines for people. Above: the live view, events. Below: progress, visible text. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

from fabro.cli.progress import OpenStage, Progress, moment, text_of
from fabro.cli.visible import duration, shorten, visible, visible_line
from fabro.json_value import JsonValue
from fabro.projections.envelope import EventEnvelope

LONGEST_TEXT = 300
"""Characters of a run's own text that one line shows."""
SHORT_VALUE_LENGTH = 60
EFFECTLESS = frozenset({"start", "exit", "conditional", "parallel", "fan_in"})
"""Stages that only a verbose reader wants to see."""

Mark: TypeAlias = Literal["begun", "ok", "partial", "failed", "again", "skipped", "question", "note", "run"]
MARKS: Mapping[Mark, tuple[str, str, str]] = {
    "begun": ("▸", ">", "cyan"),
    "ok": ("✓", "+", "green"),
    "partial": ("◐", "~", "yellow"),
    "failed": ("✗", "x", "red"),
    "again": ("↻", "@", "yellow"),
    "skipped": ("-", "-", "dim"),
    "question": ("?", "?", "yellow"),
    "note": ("!", "!", "yellow"),
    "run": ("●", "*", "bold"),
}
"""For each mark its sign, its sign in ASCII, and its colour."""
_ENDS: Mapping[str, Mark] = {"skipped": "skipped", "partially_succeeded": "partial"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One thing to tell. `is_detail` marks what only a verbose reader wants."""

    mark: Mark
    text: str
    is_detail: bool = False

    def sign(self, *, ascii_only: bool) -> str:
        """The mark as a character."""
        return MARKS[self.mark][1 if ascii_only else 0]

    def plain(self, *, ascii_only: bool) -> str:
        """The line without colour, safe for a terminal."""
        return f"{self.sign(ascii_only=ascii_only)} {visible(self.text)}"


def tell(event: EventEnvelope, before: Progress) -> Line | None:
    """The line that tells an event, None for one that says nothing to people. `before` has not taken it yet."""
    match event.event:
        case "run.started":
            folder = visible_line(text_of(event, "working_directory"))
            return Line(mark="run", text=f"works in {folder}", is_detail=True)
        case "run.cancel.requested":
            return Line(mark="note", text="asked to cancel; stopping what executes")
        case "run.notice":
            return Line(mark="note", text=f"{text_of(event, 'level')}: {_said(event.properties.get('message'))}")
        case "run.completed" | "run.failed":
            return _run_end(event, before)
        case "stage.started":
            return _begin(event)
        case "stage.completed" | "stage.failed":
            return _stage_end(event, before)
        case "prompt.completed":
            return Line(
                mark="note",
                text=f"{event.stage_id}  said: {_said(event.properties.get('response'))}",
                is_detail=True,
            )
        case "edge.selected":
            return _edge(event)
        case "interview.started":
            return Line(mark="question", text=f"{event.stage_id}  asks: {_said(event.properties.get('question'))}")
        case "interview.completed":
            return Line(mark="question", text=f"{event.stage_id}  {answered(event)}")
        case "interview.timeout":
            return Line(mark="question", text=f"{event.stage_id}  nobody answered in time")
        case "interview.interrupted":
            return Line(mark="question", text=f"{event.stage_id}  the question was withdrawn")
        case _:
            return None


def answered(event: EventEnvelope) -> str:
    """Who answered what, from an `interview.completed`."""
    answer = event.properties.get("answer")
    told = ""
    if isinstance(answer, Mapping):
        words = answer.get("option_key") or answer.get("text") or answer.get("option_keys") or answer.get("kind")
        told = (
            words if isinstance(words, str) else ", ".join(map(str, words)) if isinstance(words, Sequence) else ""
        )
    actor = text_of(event, "actor")
    return f"answered{f' by {visible_line(actor)}' if actor else ''}: {_said(told)}"


def _begin(event: EventEnvelope) -> Line:
    handler = text_of(event, "handler_type")
    attempt = event.properties.get("attempt", 1)
    again = f"  attempt {attempt} of {event.properties.get('max_attempts')}" if attempt != 1 else ""
    cut_off = text_of(event, "resumed_from_stage_id")
    resumed = f"  again, for {cut_off} was cut off" if cut_off else ""
    return Line(mark="begun", text=f"{event.stage_id}  {handler}{again}{resumed}", is_detail=handler in EFFECTLESS)


def _stage_end(event: EventEnvelope, before: Progress) -> Line:
    stage = before.stages.get(event.stage_id) if event.stage_id else None
    handler = stage.handler if stage else ""
    parts = [str(event.stage_id), handler, _took(event.properties.get("duration_ms"))]
    if event.event == "stage.failed":
        failure = event.properties.get("failure")
        why = _said(failure.get("message")) if isinstance(failure, Mapping) else ""
        again = event.properties.get("will_retry") is True
        return Line(
            mark="again" if again else "failed", text="  ".join([*parts, why, *(["trying again"] if again else [])])
        )
    parts.extend(_success(event, stage))
    return Line(
        mark=_ENDS.get(text_of(event, "status"), "ok"),
        text="  ".join(part for part in parts if part),
        is_detail=handler in EFFECTLESS,
    )


def _success(event: EventEnvelope, stage: OpenStage | None) -> list[str]:
    label, notes = text_of(event, "preferred_label"), text_of(event, "notes")
    return [
        f"exit {stage.exit_code}" if stage is not None and stage.exit_code is not None else "",
        visible_line(stage.model) if stage is not None else "",
        f"-> {_said(label)}" if label else "",
        _said(notes),
    ]


def _edge(event: EventEnvelope) -> Line:
    way = f"{text_of(event, 'from_node')} -> {text_of(event, 'to_node')}"
    reason = visible_line(text_of(event, "condition") or text_of(event, "label") or text_of(event, "reason"))
    return Line(mark="run", text=f"{visible_line(way)}  {reason}", is_detail=True)


def _run_end(event: EventEnvelope, before: Progress) -> Line:
    took = f" in {duration(moment(event) - before.began)}" if before.began else ""
    reason = text_of(event, "reason")
    if event.event == "run.completed":
        partly = ", in part" if reason == "partial_success" else ""
        return Line(mark="ok", text=f"run succeeded{partly}{took}")
    ended = "was cancelled" if reason == "cancelled" else "failed"
    return Line(mark="failed", text=f"run {ended}{took}: {_said(event.properties.get('message'))}")


def _took(millis: JsonValue) -> str:
    return duration(timedelta(milliseconds=millis if isinstance(millis, int | float) else 0))


def _said(text: JsonValue) -> str:
    return shorten(visible_line(text if isinstance(text, str) else ""), LONGEST_TEXT)


def summary(event: EventEnvelope) -> str:
    """An event on one line: number, time, name, stage, and its properties in short."""
    shown = (f"{name}={_short(value)}" for name, value in event.properties.items() if name != "spec")
    head = f"{event.seq:>5}  {event.ts}  {event.event:<22}  {event.stage_id or '':<16}"
    return visible(f"{head}  {' '.join(shown)}").rstrip()


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shorten(visible_line(text), SHORT_VALUE_LENGTH)
