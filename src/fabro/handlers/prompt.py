"""Prompts: one question to a model, without tools. Above: assembly. Below: models, the preamble.

Source: reference/engine.md §2 (prompt), §9 (precedence of models).
"""

from typing import Protocol

import anyio

from fabro.engine.handler import Effect, Plan, Rerun, Result, StageCall
from fabro.engine.preamble import compact
from fabro.handlers.simulate import simulated_response
from fabro.models.port import Model, ModelError, ModelRef, Prompt
from fabro.race import race
from fabro.run.events import PromptCompleted, StagePrompt
from fabro.run.outcome import FailureCategory, Outcome, failed, succeeded
from fabro.run.state import Inside


class Models(Protocol):
    """The models that a server can reach."""

    def choose(self, model: str | None, provider: str | None) -> ModelRef:
        """The model that these words mean, or, with neither, the best that is set up.

        Raises:
            ModelError: none is set up, or the words fit none; the hint says what to do.
        """
        ...

    async def open(self, ref: ModelRef) -> Model:
        """The model, ready to be asked."""
        ...


class PromptHandler:
    """Puts a node's prompt to a model and keeps the answer."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def begin(self, call: StageCall) -> Plan:
        """Choose the model and write the prompt down; the effect asks.

        Raises:
            ModelError: no model can be chosen.
        """
        if call.is_dry_run:
            return simulated_response(call)
        ref = self._choose(call)
        preamble = compact(call.valid.graph, call.state)
        text = "\n\n".join(part for part in (preamble, call.node.prompt_text) if part)
        asked = StagePrompt(stage_id=call.stage_id, text=text, provider=ref.provider, model=ref.name)
        prompt = Prompt(
            text=text,
            max_tokens=call.node.integer("max_tokens"),
            reasoning_effort=call.node.text("reasoning_effort"),
        )

        async def run(stop: anyio.Event) -> Result:
            result = await race(lambda: self._ask(ref, prompt, call), stop.wait)
            return result or Result(outcome=failed("cancelled", category=FailureCategory.CANCELED))

        return Effect(run=run, events=(asked,))

    def resume(self, call: StageCall, inside: Inside) -> Rerun:
        """A prompt that was cut off is put again, as a new stage."""
        del call, inside
        return Rerun()

    def _choose(self, call: StageCall) -> ModelRef:
        node, args, graph = call.node, call.spec.args, call.valid.graph
        sources = (
            (node.text("model"), node.text("provider")),
            (args.model, args.provider),
            (graph.text("default_model"), graph.text("default_provider")),
        )
        for model, provider in sources:
            if model is not None or provider is not None:
                return self._models.choose(model, provider)
        return self._models.choose(None, None)

    async def _ask(self, ref: ModelRef, prompt: Prompt, call: StageCall) -> Result:
        try:
            model = await self._models.open(ref)
            response = await model.complete(prompt)
        except ModelError as error:
            return Result(outcome=_failure(error))
        completed = PromptCompleted(
            stage_id=call.stage_id,
            response=response.text,
            provider=response.provider,
            model=response.model,
            usage=response.usage,
        )
        return Result(outcome=succeeded(), events=(completed,))


def _failure(error: ModelError) -> Outcome:
    return failed(error.advice, category=error.category)
