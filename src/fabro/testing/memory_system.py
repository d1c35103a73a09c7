"""A whole system that forgets: a real engine over stores in memory. Above: tests of doors and of workflows. Below:
assembly and the scripted stand-ins.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from fabro.assembly import Parts, System, assemble
from fabro.clock import Clock, SystemClock
from fabro.ids import VersionId
from fabro.models.port import Model, ModelRef
from fabro.operations.calls import Operations
from fabro.sandbox.port import Provider
from fabro.store.memory import MemoryStore
from fabro.store.memory_blobs import MemoryBlobs
from fabro.testing.scripted_model import ScriptedModel
from fabro.testing.scripted_sandbox import ScriptedProvider, ScriptedSandbox
from fabro.workflow.version import Version


class OneModel:
    """Implements `fabro.handlers.prompt.Models`: whatever is asked for, it is this model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def choose(self, model: str | None, provider: str | None) -> ModelRef:
        """The one model's name."""
        del model, provider
        return self._model.ref

    async def open(self, ref: ModelRef) -> Model:
        """The one model."""
        del ref
        return self._model


@asynccontextmanager
async def memory_system(
    *,
    clock: Clock | None = None,
    model: Model | None = None,
    sandboxes: Provider | None = None,
    places: int = 32,
) -> AsyncGenerator[System]:
    """A system in memory.

    Args:
        clock: its time; the machine's own unless given.
        model: what every prompt is put to; unless given, one that answers `ok`.
        sandboxes: where commands run; unless given, a scripted sandbox without a script, in which every command
            fails.
        places: how many runs execute at once.
    """
    time = clock or SystemClock()
    parts = Parts(
        store=MemoryStore(time),
        blobs=MemoryBlobs(),
        clock=time,
        sandboxes=sandboxes or ScriptedProvider(ScriptedSandbox()),
        models=OneModel(model or ScriptedModel(["ok"])),
    )
    async with assemble(parts, places=places) as system:
        yield system
    await parts.store.close()


async def register(operations: Operations, source: str, files: Mapping[str, str] | None = None) -> VersionId:
    """Store a workflow whose graph is `source`; `files` stand beside it."""
    version = Version(entrypoint="workflow.fabro", files={"workflow.fabro": source, **(files or {})})
    return await operations.versions.create(version)
