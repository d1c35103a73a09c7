"""The values that conditions can ask for. Above: decide. Below: a run's state.

Source: reference/engine.md §4, §5.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fabro.ids import BlobId
from fabro.json_value import JsonValue
from fabro.run.context import BlobRef
from fabro.run.outcome import Outcome
from fabro.run.state import RunState
from fabro.workflow.condition import resolve
from fabro.workflow.graph import Graph, Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """Looks keys up for one decision: the outcome first, then the context, then what the run itself knows."""

    graph: Graph
    node: Node
    state: RunState
    outcome: Outcome
    blobs: Mapping[BlobId, str]

    def lookup(self, key: str) -> JsonValue:
        """The value of a key, None where there is none."""
        name = key.removeprefix("context.")
        own = self._own(name)
        if own is not None:
            return own
        return resolve(_Context(self.state, self.blobs), key)

    def missing(self, keys: Iterable[str]) -> frozenset[BlobId]:
        """Blobs that have to be loaded before the keys can be looked up."""
        wanted: set[BlobId] = set()
        for key in keys:
            value = self.state.context.get(key) or self.state.context.get(key.removeprefix("context."))
            if isinstance(value, BlobRef) and value.blob not in self.blobs:
                wanted.add(value.blob)
        return frozenset(wanted)

    def _own(self, name: str) -> JsonValue:
        failure = self.outcome.failure
        match name:
            case "outcome":
                return self.outcome.status.value
            case "preferred_label":
                return self.outcome.preferred_label or ""
            case "failure_class":
                return failure.category.value if failure else ""
            case "current_node":
                return self.node.id
            case "internal.node_visit_count":
                return self.state.visits.get(self.node.id, 0)
            case "internal.run_id":
                return self.state.run_id
            case "internal.work_dir":
                return self.state.working_directory or ""
            case _ if name.startswith("graph."):
                return self.graph.text(name.removeprefix("graph."))
            case _:
                return None


@dataclass(frozen=True, slots=True)
class _Context(Mapping[str, JsonValue]):
    """The run's context with blobs in their place, without a copy of it."""

    state: RunState
    blobs: Mapping[BlobId, str]

    def __getitem__(self, key: str) -> JsonValue:
        value = self.state.context[key]
        return self.blobs.get(value.blob, str(value)) if isinstance(value, BlobRef) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.state.context)

    def __len__(self) -> int:
        return len(self.state.context)
