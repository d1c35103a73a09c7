"""Stages as JSON, and which of many are shown. Above: the projection. Below: the calls' views.

Names follow reference/mcp-server.md §6 (StageProjection).
"""

from collections.abc import Iterable, Mapping, Sequence

from fabro.ids import StageId
from fabro.json_value import JsonObject, JsonValue
from fabro.mcp_server.json_text import plain_object, size
from fabro.projections.detail import CommandView, PromptView, StageState, StageView

ROOM = 100_000
"""Bytes that all stages together may take."""
ROOM_FOR_ATTENTION = 60_000
"""How much of it those may take that failed or are not finished, which are chosen first."""
LARGEST_STAGE = 24_000
LONG_TEXT = 4_000
SHORT_TEXT = 400
_DONE = frozenset({StageState.SUCCEEDED, StageState.PARTIALLY_SUCCEEDED, StageState.SKIPPED})


def choose(stages: Sequence[StageView]) -> Mapping[StageId, JsonObject]:
    """The stages for which there is room, in the order in which they started.

    Those that need a look (failed, or not finished) are chosen first, then the newest.
    """
    attention = [stage for stage in reversed(stages) if stage.state not in _DONE]
    first = _fitting(attention, ROOM_FOR_ATTENTION)
    rest = (stage for stage in reversed(stages) if stage.stage_id not in first)
    chosen = first | _fitting(rest, ROOM - sum(size(shown) for shown in first.values()))
    return {stage.stage_id: chosen[stage.stage_id] for stage in stages if stage.stage_id in chosen}


def stage_result(stage: StageView, longest_text: int = LONG_TEXT) -> JsonObject:
    """A stage: what it is and where it stands, then what went in and came out."""
    plainly = plain_object(stage, longest_text, without=("handler_type", "command", "prompt"))
    result = {**plainly, "handler": stage.handler_type}
    if stage.command is not None:
        result |= _command(stage.command, longest_text)
    if stage.prompt is not None:
        result |= _prompt(stage.prompt, longest_text)
    return result


def _fitting(stages: Iterable[StageView], room: int) -> dict[StageId, JsonObject]:
    """Stages until the next one does not fit."""
    chosen: dict[StageId, JsonObject] = {}
    for stage in stages:
        shown = _within_bounds(stage)
        room -= size(shown)
        if room < 0:
            break
        chosen[stage.stage_id] = shown
    return chosen


def _within_bounds(stage: StageView) -> JsonObject:
    shown = stage_result(stage)
    return shown if size(shown) <= LARGEST_STAGE else stage_result(stage, SHORT_TEXT)


def _command(command: CommandView, longest_text: int) -> dict[str, JsonValue]:
    invocation = ("script", "language", "timeout_ms")
    ended = plain_object(command, longest_text, without=invocation)
    begun = plain_object(command, longest_text)
    return {"script_invocation": {name: begun[name] for name in invocation}, **ended}


def _prompt(prompt: PromptView, longest_text: int) -> dict[str, JsonValue]:
    facts = plain_object(prompt, longest_text, without=("text", "provider", "model"))
    used: JsonObject = {"mode": "prompt", "provider": prompt.provider, "model": prompt.model}
    return {"prompt": plain_object(prompt, longest_text)["text"], "provider_used": used, **facts}
