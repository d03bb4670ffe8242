"""The compiled model: a program, the streams that run it, and the ports users see."""
from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakSet

from clinfer.api.arguments import only
from clinfer.api.arrays import GivenInput
from clinfer.api.config import CompileConfig, pairs_of
from clinfer.api.handles import Handle
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import ConstOutput, PortKey, Ports, describe_all, port_name
from clinfer.api.results import Results
from clinfer.api.runtime_model import runtime_model
from clinfer.api.saved_model import ModelParts, save_model_parts, write_blob
from clinfer.api.stream_pool import StreamPool
from clinfer.api.variable_state import VariableState
from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.one_of_a_kind import OneOfAKind
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.host_waits import host_waits
from clinfer.network.memory.preallocation import Preallocation
from clinfer.network.network import Network
from clinfer.network.reports.profiling import NodeProfile, unexecuted
from clinfer.network.reports.timeline import Timeline, timeline_of
from clinfer.program.program import Program
from clinfer.remote.context import RemoteContext
from clinfer.runtime.engine import Engine
from clinfer.runtime.event_log import EventLog
from clinfer.runtime.stream import Stream
from clinfer.topology import State

_SMALL_SHARE = 256
"""A device's memory over what is little of it, of which a stream of inferences may take more than it needs."""


class CompiledModel(OneOfAKind, metaclass=Handle):
    """A model made ready for one device. Made by `Core.compile_model`; safe for use by several threads,
    each with an infer request of its own.

    `loaded_from_cache`: whether a blob of CACHE_DIR spared the compilation.
    """

    def __init__(self, parts: ModelParts, context: RemoteContext, loaded_from_cache: bool = False) -> None:
        self._set_up(parts.name, context, parts.ports, parts.config)
        self._parts = parts
        self._loaded_from_cache = loaded_from_cache
        self._pool = StreamPool(partial(_make_network, parts, context.queue_stream), parts.config.num_streams)
        self._pool.prepare()

    def _set_up(self, name: str, context: RemoteContext, ports: Ports, config: CompileConfig) -> None:
        """Take what is known of a model before its program is."""
        self._name = name
        self._context = context
        self.ports = ports
        self._config = config
        self._loaded_from_cache = False
        self._infer_request: InferRequest | None = None
        self.requests: WeakSet[InferRequest] = WeakSet()
        self._profile: tuple[NodeProfile, ...] = ()
        self._event_log = EventLog()
        # It starts its threads with the first background inferences, one per stream.
        self.executor = ThreadPoolExecutor(config.num_streams, "clinfer")

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def config(self) -> CompileConfig:
        """The settings that it was compiled with."""
        return self._config

    @property
    def engine(self) -> Engine:
        """The device that runs the model."""
        return self._context.engine

    def get_context(self) -> RemoteContext:
        """Where the model runs; tensors that are made in it can be its inputs and outputs."""
        return self._context

    @property
    def shares_queue(self) -> bool:
        """Whether it runs in a queue of the user's."""
        return self._context.queue is not None

    @property
    def parts(self) -> ModelParts:
        """What the model is made of."""
        return self._parts

    @property
    def program(self) -> Program:
        """What is run."""
        return self.parts.program

    @property
    def surfaces(self) -> frozenset[int]:
        """The inputs, by index, whose memory is images."""
        declared = self.parts.program.inputs
        return frozenset(i for i, name in enumerate(self.parts.input_names) if declared[name].is_surface)

    @property
    def states(self) -> tuple[State, ...]:
        """The variables that each request keeps."""
        return self.parts.program.states

    @property
    def pool(self) -> StreamPool:
        """The streams that run it."""
        return self._pool

    def for_inputs(self, inputs: Sequence[GivenInput]) -> CompiledModel:
        """The model that runs prepared inputs: this one, unless their ranks decide which."""
        return self

    # -- ports ----------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[ConstOutput]:
        """The input ports, in the model's order."""
        return list(self.ports.inputs)

    @property
    def outputs(self) -> list[ConstOutput]:
        """The output ports, in the model's order."""
        return list(self.ports.outputs)

    def input(self, index: PortKey | None = None, *, tensor_name: str | None = None) -> ConstOutput:
        """The input port of an index or name; without one, the only input."""
        return self.ports.inputs[self.ports.input_index(only("input", index=index, tensor_name=tensor_name))]

    def output(self, index: PortKey | None = None, *, tensor_name: str | None = None) -> ConstOutput:
        """The output port of an index or name; without one, the only output."""
        return self.ports.outputs[self.ports.output_index(only("output", index=index, tensor_name=tensor_name))]

    # -- running --------------------------------------------------------------------------------

    def create_infer_request(self) -> InferRequest:
        """A new request with inputs and outputs of its own."""
        return self.new_request()

    def new_request(self, on_finish: Callable[[InferRequest, BaseException | None], None] | None = None
                    ) -> InferRequest:
        """The same; `on_finish`: see InferRequest."""
        return InferRequest(self, on_finish)

    def infer_new_request(self, inputs: Any = None) -> Results:
        """Run once in a new request; see InferRequest.infer."""
        return self.create_infer_request().infer(inputs)

    def __call__(self, inputs: Any = None, share_inputs: bool = True, share_outputs: bool = False, *,
                 decode_strings: bool = True) -> Results:
        """Run in the request that belongs to this model, one call at a time; see InferRequest.infer."""
        return self._own_request().infer(inputs, share_inputs, share_outputs, decode_strings=decode_strings)

    def query_state(self) -> list[VariableState]:
        """The variable states of the request that belongs to this model; see InferRequest.query_state."""
        return self._own_request().query_state()

    def reset_state(self) -> None:
        """Reset the variable states of the request that belongs to this model."""
        self._own_request().reset_state()

    def _own_request(self) -> InferRequest:
        if self._infer_request is None:
            # A cycle would keep device memory until the garbage collector runs.
            own: Any = weakref.proxy(self)
            self._infer_request = InferRequest(own)
        return self._infer_request

    # -- keeping it -----------------------------------------------------------------------------

    def export_model(self, model_stream: Any = None) -> io.BytesIO | None:
        """The compiled model as a stream for `Core.import_model`, see docs/compiled_blobs.md; or written into a binary
        stream of the user's, which is set back to its beginning if it can be."""
        blob, encryption = save_model_parts(self.parts), self._config.encryption
        blob = blob if encryption is None else encryption.encrypted(blob)
        if model_stream is None:
            return io.BytesIO(blob.to_bytes())
        write_blob(model_stream, blob)
        return None

    def release_memory(self) -> None:
        """Give back all device memory but constants, and the plans, until the next inference.

        The inputs of requests wait for it on the host. Inferences that are running keep what they use.
        """
        self.pool.release_memory()
        stream = self.engine.create_stream()
        for request in list(self.requests):
            request.move_to_host(stream)

    # -- what it tells --------------------------------------------------------------------------

    @property
    def profiles(self) -> bool:
        """Whether inferences measure what each primitive costs (PERF_COUNT)."""
        return self._config.profiling

    @property
    def profile(self) -> tuple[NodeProfile, ...]:
        """What each primitive cost in the inference that was measured last; not run where there was none."""
        return self._profile or unexecuted(self.program)

    @property
    def timeline(self) -> Timeline:
        """When the host and the device did what in the inference that was measured last; empty where there was none."""
        return timeline_of(self._event_log)

    def keep_profile(self, profile: tuple[NodeProfile, ...], event_log: EventLog) -> None:
        """Take what an inference measured."""
        self._profile, self._event_log = profile, event_log

    @property
    def host_waits(self) -> tuple[str, ...]:
        """The primitives for which the host waits in the middle of an inference, see `network.host_waits`: where there
        are any, `start_async` in a queue of the user's waits for them."""
        names = dict(zip(self.parts.input_names, map(port_name, self.ports.inputs), strict=True))
        return host_waits(self.program, names)

    def get_runtime_model(self) -> ov.Model:
        """The executed graph, see `clinfer.api.runtime_model`; with times once a profiled inference ran."""
        results = [port.get_node().get_friendly_name() for port in self.ports.outputs]
        return runtime_model(self._name, self.program, self.profile,
                             list(zip(self.parts.output_names, results, strict=True)))

    def get_property(self, property: str) -> Any:
        """One of SUPPORTED_PROPERTIES; they cannot be changed any more."""
        values = {
            "NETWORK_NAME": self._name,
            "EXECUTION_DEVICES": [self.engine.device.name],
            "OPTIMAL_NUMBER_OF_INFER_REQUESTS": self._config.num_streams,
            "LOADED_FROM_CACHE": self._loaded_from_cache,
            "host_waits": self.host_waits,
            "compute_units": self.engine.queue_device.max_compute_units,
            **self._config.properties(),
        }
        values["SUPPORTED_PROPERTIES"] = dict.fromkeys(["SUPPORTED_PROPERTIES", *values], "RO")
        if property not in values:
            raise ClinferError(f"a compiled model has no property {property}",
                               where=self._where,
                               values={"properties": ", ".join(sorted(values))})
        return values[str(property)]

    def set_property(self, properties: Any = None, *, property: Any = None) -> None:
        """Always an error: the properties of a compiled model are fixed."""
        given = only("set_property", properties=properties, property=property)
        names = ", ".join(name for name, _ in pairs_of(given))
        raise ClinferError("the properties of a compiled model cannot be changed",
                           where=self._where, values={"given": names},
                           hint="give them to compile_model, or to Core.set_property before it")

    @property
    def preallocation(self) -> Preallocation:
        """How much memory its requests take ahead of need."""
        return _preallocation(self.engine, self._config)

    @property
    def _where(self) -> str:
        return f"model {self._name!r} on {self.engine.device.name}"

    def __repr__(self) -> str:
        return (f"<CompiledModel: {self._name!r} on {self.engine.device.name}; "
                f"inputs {describe_all(self.ports.inputs)}; outputs {describe_all(self.ports.outputs)}>")


def _make_network(parts: ModelParts, queue_stream: Callable[[], Stream] | None) -> Network:
    profiling, in_order = parts.config.profiling, parts.config.execution_order == "in_order"
    stream = queue_stream() if queue_stream else parts.program.engine.create_stream(in_order, profiling)
    return Network(parts.program, stream, OpenVinoShapeInference(), profiling, knobs.traces_enabled(),
                   specialise_after=parts.config.specialise_after,
                   preallocation=_preallocation(parts.program.engine, parts.config))


def _preallocation(engine: Engine, config: CompileConfig) -> Preallocation:
    """How much memory is taken ahead of need. Where memory that nobody wrote to costs nothing, there is room for likely
    sizes whatever memory there is."""
    ahead, small = config.preallocation, engine.capabilities.global_mem_size // _SMALL_SHARE
    room = ahead.room if engine.device.type == "CPU" else min(ahead.room, small)
    return replace(ahead, room=room if knobs.traces_enabled() else 0, kept=min(ahead.room, small))
