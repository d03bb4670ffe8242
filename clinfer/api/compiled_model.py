"""The compiled model: a program, the streams that run it, and the ports users see."""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from clinfer.api.config import CompileConfig
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import PortKey, Ports, describe_all
from clinfer.api.results import Results
from clinfer.api.stream_pool import StreamPool
from clinfer.base.errors import ClinferError
from clinfer.base.shape_inference import ShapeInference
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network.network import Network
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine


class CompiledModel:
    """A model made ready for one device. Made by `Core.compile_model`; safe for use by several threads,
    each with an infer request of its own.

    `input_names` and `output_names`: the program's names of the inputs and outputs, in the order of the ports.
    """

    def __init__(self, name: str, program: Program, ports: Ports, input_names: tuple[str, ...],
                 output_names: tuple[str, ...], shape_inference: ShapeInference, config: CompileConfig) -> None:
        self.program = program
        self.ports = ports
        self.input_names = input_names
        self.output_names = output_names
        self._name = name
        self._config = config
        self._request: InferRequest | None = None
        engine = program.engine
        self.pool = StreamPool(lambda: Network(program, engine.create_stream(), shape_inference),
                               config.num_streams)

    @property
    def engine(self) -> Engine:
        """The device that runs the model."""
        return self.program.engine

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """The threads of background inferences: one per stream."""
        return ThreadPoolExecutor(self.pool.size, "clinfer")

    # -- ports ----------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[ov.Output]:
        """The input ports, in the model's order."""
        return list(self.ports.inputs)

    @property
    def outputs(self) -> list[ov.Output]:
        """The output ports, in the model's order."""
        return list(self.ports.outputs)

    def input(self, key: PortKey | None = None) -> ov.Output:
        """The input port of an index or name; without one, the only input."""
        return self.ports.inputs[self.ports.input_index(key)]

    def output(self, key: PortKey | None = None) -> ov.Output:
        """The output port of an index or name; without one, the only output."""
        return self.ports.outputs[self.ports.output_index(key)]

    # -- running --------------------------------------------------------------------------------

    def create_infer_request(self) -> InferRequest:
        """A new request with inputs and outputs of its own."""
        return InferRequest(self)

    def infer_new_request(self, inputs: Any = None) -> Results:
        """Run once in a new request; see InferRequest.infer."""
        return self.create_infer_request().infer(inputs)

    def __call__(self, inputs: Any = None, share_inputs: bool = True, share_outputs: bool = False, *,
                 decode_strings: bool = True) -> Results:
        """Run in the request that belongs to this model, one call at a time; see InferRequest.infer."""
        if self._request is None:
            self._request = self.create_infer_request()
        return self._request.infer(inputs, share_inputs, share_outputs, decode_strings=decode_strings)

    # -- what it tells --------------------------------------------------------------------------

    def get_property(self, property: str) -> Any:
        """One of SUPPORTED_PROPERTIES; they cannot be changed any more."""
        values = {
            "NETWORK_NAME": self._name,
            "EXECUTION_DEVICES": [self.engine.device.name],
            "OPTIMAL_NUMBER_OF_INFER_REQUESTS": self.pool.size,
            **self._config.properties(),
        }
        values["SUPPORTED_PROPERTIES"] = dict.fromkeys(["SUPPORTED_PROPERTIES", *values], "RO")
        if property not in values:
            raise ClinferError(f"a compiled model has no property {property}",
                               where=f"model {self._name!r} on {self.engine.device.name}",
                               values={"properties": ", ".join(sorted(values))})
        return values[str(property)]

    def __repr__(self) -> str:
        return (f"<CompiledModel: {self._name!r} on {self.engine.device.name}; "
                f"inputs {describe_all(self.ports.inputs)}; outputs {describe_all(self.ports.outputs)}>")
