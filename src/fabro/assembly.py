"""The only place that picks implementations and wires them. Above: the CLI, tests. Below: everything.

`open_system` is a whole server without its doors: storage, engine, and what executes in them. It ends what it began
when its block ends; runs that were driven go on at the next start.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import structlog
from anyio.to_thread import run_sync

from fabro.clock import Clock
from fabro.dispatch.local import UNFINISHED, LocalDispatcher, local_dispatcher
from fabro.engine.handler import Handler
from fabro.engine.runner import Tools
from fabro.handlers.command import CommandHandler
from fabro.handlers.human import HumanHandler
from fabro.handlers.marker import MarkerHandler
from fabro.handlers.prompt import Models, PromptHandler
from fabro.handlers.simulate import AgentHandler
from fabro.handlers.wait import WaitHandler
from fabro.ids import new_run_id
from fabro.models.port import Model, ModelRef
from fabro.models.retrying import Retry, RetryingModel
from fabro.operations.calls import Operations
from fabro.operations.events import Events
from fabro.operations.questions import Questions
from fabro.operations.runs import Runs
from fabro.operations.versions import Versions
from fabro.sandbox.port import Provider
from fabro.store.blobs import Blobs
from fabro.store.port import EventStore, RunQuery
from fabro.workflow.attributes import NodeType

EXECUTABLE = frozenset(
    {NodeType.START, NodeType.CONDITIONAL, NodeType.COMMAND, NodeType.HUMAN, NodeType.WAIT, NodeType.PROMPT}
)
"""What nodes this system executes; agents are simulated in dry runs."""
MOST_COUNTED = 1000

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What a system is made of, each in the implementation of somebody's choice."""

    store: EventStore
    blobs: Blobs
    clock: Clock
    sandboxes: Provider
    models: Models


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """A running system. `storage` is its folder, None where it keeps everything in memory."""

    storage: Path | None
    parts: Parts
    versions: Versions
    dispatcher: LocalDispatcher

    @property
    def clock(self) -> Clock:
        """Its time."""
        return self.parts.clock

    @property
    def blobs(self) -> Blobs:
        """Where large contents lie."""
        return self.parts.blobs

    def operations(self, client: str | None) -> Operations:
        """Everything that a caller can do; `client` is what the caller says of itself."""
        store = self.parts.store
        return Operations(
            versions=self.versions,
            runs=Runs(
                store, self.versions, self.dispatcher, self.parts.clock, executable=EXECUTABLE, client=client
            ),
            questions=Questions(store, self.dispatcher),
            events=Events(store),
        )

    async def unfinished_runs(self) -> int:
        """How many runs will still do something, counted up to 1,000."""
        return len(await self.parts.store.list(RunQuery(statuses=UNFINISHED, limit=MOST_COUNTED)))


@asynccontextmanager
async def assemble(parts: Parts, *, storage: Path | None = None, places: int = 32) -> AsyncGenerator[System]:
    """A system of these parts, which goes on with every unfinished run; the parts stay their owner's."""
    versions = Versions(parts.blobs)
    tools = Tools(
        store=parts.store,
        blobs=parts.blobs,
        clock=parts.clock,
        handlers=_handlers(parts),
        sandboxes=parts.sandboxes,
        load_graph=versions.bound_graph,
    )
    async with local_dispatcher(tools, places=places) as dispatcher:
        await dispatcher.recover()
        yield System(storage=storage, parts=parts, versions=versions, dispatcher=dispatcher)


@asynccontextmanager
async def open_system(
    storage: Path, environment: Mapping[str, str], clock: Clock, *, socket: str = "", places: int = 32
) -> AsyncGenerator[System]:
    """The system in a storage folder, which it holds meanwhile.

    Args:
        storage: the folder; it is made where there is none.
        environment: the server's own variables: keys of models, what commands find.
        clock: its time.
        socket: where this server can be reached, for those who find the folder in use.
        places: how many runs execute at once; runs that wait do not count.

    Raises:
        Conflict: `storage_in_use`.
        StorageError: the folder can't be used (`storage_foreign`: it is another program's).
    """
    from fabro.sandbox.keeper import Keeper
    from fabro.sandbox.local import LocalProvider
    from fabro.store.file_blobs import FileBlobs
    from fabro.store.folder import open_folder
    from fabro.store.sqlite import open_sqlite

    async with AsyncExitStack() as stack:
        folder = stack.enter_context(await run_sync(partial(open_folder, storage, socket=socket)))
        blobs = await run_sync(FileBlobs, folder.blobs)
        store = await run_sync(partial(open_sqlite, folder.db / "fabro.db", clock, blobs=blobs))
        stack.push_async_callback(store.close)
        keeper = Keeper(new_run_id(clock.now()))
        stack.push_async_callback(keeper.aclose)
        models = PooledModels(environment, clock)
        stack.push_async_callback(models.aclose)
        parts = Parts(
            store=store,
            blobs=blobs,
            clock=clock,
            sandboxes=LocalProvider(folder.runs, keeper, environment=environment),
            models=models,
        )
        yield await stack.enter_async_context(assemble(parts, storage=storage, places=places))


class PooledModels:
    """Implements `fabro.handlers.prompt.Models`: the models that an environment gives access to, each opened once
    and asked again when it fails in passing.
    """

    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        from fabro.models.pool import ModelPool

        self._environment = environment
        self._clock = clock
        self._pool = ModelPool(environment, clock)
        self._opening = anyio.Lock()

    def choose(self, model: str | None, provider: str | None) -> ModelRef:
        """The model that these words mean; see the protocol."""
        from fabro.models.catalogue import choose, is_local_available

        return choose(model, provider, self._environment, local_available=is_local_available())

    async def open(self, ref: ModelRef) -> Model:
        """The model; in a thread, since a provider's library takes seconds to load."""
        async with self._opening:
            model = await run_sync(self._pool.model, ref)
        return RetryingModel(model, clock=self._clock, random=self._random, on_retry=_log_retry)

    async def aclose(self) -> None:
        """Close every model."""
        await self._pool.aclose()

    def _random(self) -> float:
        """A number of [0, 1) from the random end of a fresh id."""
        digits = new_run_id(self._clock.now())[-8:]
        return int(digits, 36) / 36 ** len(digits)


async def _log_retry(retry: Retry) -> None:
    _logger.warning(
        "a model is asked again",
        attempt=retry.attempt,
        seconds=retry.delay.total_seconds(),
        error=retry.error.message,
    )


def _handlers(parts: Parts) -> Mapping[NodeType, Handler]:
    return {
        NodeType.START: MarkerHandler(),
        NodeType.CONDITIONAL: MarkerHandler(),
        NodeType.COMMAND: CommandHandler(parts.blobs),
        NodeType.HUMAN: HumanHandler(),
        NodeType.WAIT: WaitHandler(),
        NodeType.PROMPT: PromptHandler(parts.models),
        NodeType.AGENT: AgentHandler(),
    }
