"""A model on several devices of one process, between which its requests choose."""
from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.infer_request import InferRequest
from clinfer.api.saved_model import ModelParts
from clinfer.api.stream_pool import StreamPool
from clinfer.base.errors import ClinferError
from clinfer.network.reports.profiling import NodeProfile
from clinfer.network.reports.timeline import Timeline
from clinfer.remote.context import RemoteContext


class SeveralDevices(CompiledModel):
    """A compiled model for each device of `models`, in the order of preference. A new request is one of the device that
    is the least busy then: whose running inferences are the fewest for its streams, then whose requests are. It stays
    there, since its tensors and states lie there; `AsyncInferQueue` has requests on all and starts that of the least
    busy one.

    The request that belongs to the model itself, and what it tells of its program, are those of the first device.
    """

    def __init__(self, models: Sequence[CompiledModel]) -> None:
        first = models[0]
        self._set_up(first.name, first.get_context(), first.ports, first.config)
        self._models = tuple(models)

    def new_request(self, on_finish: Callable[[InferRequest, BaseException | None], None] | None = None
                    ) -> InferRequest:
        return min(self._models, key=_load).new_request(on_finish)

    def _own_request(self) -> InferRequest:
        return self._models[0]._own_request()

    @property
    def parts(self) -> ModelParts:
        return self._models[0].parts

    @property
    def pool(self) -> StreamPool:
        return self._models[0].pool

    @property
    def profile(self) -> tuple[NodeProfile, ...]:
        return self._models[0].profile

    @property
    def timeline(self) -> Timeline:
        return self._models[0].timeline

    @property
    def host_waits(self) -> tuple[str, ...]:
        """See CompiledModel; on any of the devices."""
        return tuple(dict.fromkeys(name for model in self._models for name in model.host_waits))

    def get_context(self) -> RemoteContext:
        """Always an error: each device has a context of its own."""
        raise ClinferError("a model on several devices has no one context", where=self._where,
                           hint="take that of a request's model (request.get_compiled_model()), or compile the model "
                                "for each device")

    def get_property(self, property: str) -> Any:
        """See CompiledModel; devices and requests are those of all."""
        if property == "EXECUTION_DEVICES":
            return [model.engine.device.name for model in self._models]
        if property == "OPTIMAL_NUMBER_OF_INFER_REQUESTS":
            return sum(model.get_property(property) for model in self._models)
        return super().get_property(property)

    def export_model(self, model_stream: Any = None) -> io.BytesIO | None:
        """Always an error: a blob is one device's."""
        raise ClinferError("a model on several devices cannot be exported", where=self._where,
                           hint="compile and export it for each device")

    def release_memory(self) -> None:
        """See CompiledModel; on all devices."""
        for model in self._models:
            model.release_memory()

    @property
    def _where(self) -> str:
        return f"model {self.name!r} on {', '.join(model.engine.device.name for model in self._models)}"


def _load(model: CompiledModel) -> tuple[float, float]:
    """How busy a device is with a model: its running inferences and its requests, per stream."""
    requests = list(model.requests)
    return (sum(request.is_running for request in requests) / model.pool.size, len(requests) / model.pool.size)
