"""The models of one process, each opened once. Above: assembly. Below: the catalogue.

Sharing matters: connections are kept, the local model's process serves every run, a script goes on where it was.
"""

from collections.abc import Mapping

from fabro.clock import Clock
from fabro.models.catalogue import open_model
from fabro.models.port import Model, ModelRef


class ModelPool:
    """Opens models on demand, hands the same one to everybody who asks, and closes them together."""

    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        self._environment = environment
        self._clock = clock
        self._models: dict[ModelRef, Model] = {}

    def model(self, ref: ModelRef) -> Model:
        """The model called `ref`; it stays the pool's, so the caller does not close it.

        Raises:
            ModelError: of kind `configuration`, as `open_model` says.
        """
        if ref not in self._models:
            self._models[ref] = open_model(ref, self._environment, self._clock)
        return self._models[ref]

    async def aclose(self) -> None:
        """Close every model that was opened."""
        while self._models:
            _, model = self._models.popitem()
            await model.aclose()
