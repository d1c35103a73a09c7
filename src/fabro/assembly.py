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
from anyio.to_thread import run_sync

from fabro.clock import Clock
from fabro.dispatch.local import LocalDispatcher, local_dispatcher
from fabro.engine.handler import Handler
from fabro.engine.runner import DRIVEN, Tools
from fabro.handlers.agent import AgentHandler
from fabro.handlers.command import CommandHandler
from fabro.handlers.human import HumanHandler
from fabro.handlers.marker import MarkerHandler
from fabro.handlers.prompt import Models, PromptHandler
from fabro.handlers.wait import WaitHandler
from fabro.ids import new_run_id, sha256_hex
from fabro.operations.calls import Operations
from fabro.operations.events import Events
from fabro.operations.questions import Questions
from fabro.operations.runs import Runs
from fabro.operations.versions import Versions
from fabro.sandbox.port import Provider
from fabro.store.blobs import Blobs
from fabro.store.port import EventStore, RunQuery
from fabro.workflow.attributes import NodeType

SIMULATED = frozenset({NodeType.AGENT})
"""Nodes that have a handler for dry runs only."""
MOST_COUNTED = 1000


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
    """A running system. `storage` is its folder, None where it keeps everything in memory. `executable` are the
    node types that it really executes.
    """

    storage: Path | None
    parts: Parts
    versions: Versions
    dispatcher: LocalDispatcher
    executable: frozenset[NodeType]

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
                store, self.versions, self.dispatcher, self.parts.clock, executable=self.executable, client=client
            ),
            questions=Questions(store, self.dispatcher),
            events=Events(store),
        )

    async def unfinished_runs(self) -> int:
        """How many runs will still do something, counted up to 1,000."""
        return len(await self.parts.store.list(RunQuery(statuses=DRIVEN, limit=MOST_COUNTED)))


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
        places=anyio.Semaphore(places),
        load_graph=versions.bound_graph,
    )
    async with local_dispatcher(tools) as dispatcher:
        await dispatcher.recover()
        yield System(
            storage=storage,
            parts=parts,
            versions=versions,
            dispatcher=dispatcher,
            executable=frozenset(tools.handlers) - SIMULATED,
        )


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
    from fabro.models.access import ModelAccess
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
        kin = sha256_hex(bytes(folder.path))[:16]
        keeper = Keeper(f"{kin}-{new_run_id(clock.now())}")
        await keeper.sweep(prefix=f"{kin}-")  # of whom an earlier server of this storage left
        stack.push_async_callback(keeper.aclose)
        models = ModelAccess(environment, clock)
        stack.push_async_callback(models.aclose)
        parts = Parts(
            store=store,
            blobs=blobs,
            clock=clock,
            sandboxes=LocalProvider(folder.runs, keeper, environment=environment),
            models=models,
        )
        yield await stack.enter_async_context(assemble(parts, storage=storage, places=places))


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
