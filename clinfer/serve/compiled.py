"""A model compiled for one device, as a server needs it: its description, checked inputs, inferences that end when
nobody waits for them."""
from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import ConstOutput
from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.serve.datatypes import datatype_of
from clinfer.serve.errors import BadRequestError
from clinfer.serve.messages import InferenceRequest, Port, Tensor

_AGAIN_S = 0.02
"""After how long an inference that has not ended is cancelled again."""
_BF16 = ElementType.of("bf16")


class ServedModel:
    """A model on a device. `run` may be called for several inferences at a time; as many as the model has streams
    are computed at a time. States are reset before each inference: requests do not know each other.

    Errors of the constructor: ClinferError.
    """

    def __init__(self, path: Path, device: str, properties: Mapping[str, object]) -> None:
        self.compiled: CompiledModel = Core().compile_model(path, device, dict(properties))
        self.device: str = self.compiled.get_property("EXECUTION_DEVICES")[0]
        self.inputs = tuple(_port(port, f"input_{index}") for index, port in enumerate(self.compiled.inputs))
        self.outputs = tuple(_port(port, f"output_{index}") for index, port in enumerate(self.compiled.outputs))
        self.streams: int = self.compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        self.has_states = bool(self.compiled.states)
        self._threads = ThreadPoolExecutor(self.streams, "clinfer-serve")
        self._idle = [self.compiled.create_infer_request() for _ in range(self.streams)]
        self._turns = asyncio.Semaphore(self.streams)
        self._index = {port.name: index for index, port in enumerate(self.inputs)}

    def check(self, request: InferenceRequest) -> None:
        """Raise BadRequestError where the model does not take these inputs or has no such outputs."""
        given = [tensor.name for tensor in request.inputs]
        missing = [port.name for port in self.inputs if port.name not in given]
        if missing or len(set(given)) < len(given) or len(given) > len(self.inputs):
            raise BadRequestError("the inputs are not the model's", values={
                "given": ", ".join(given), "the model's": ", ".join(port.name for port in self.inputs)})
        for tensor in request.inputs:
            _check_input(tensor, self.inputs[self._index[tensor.name]])
        known = {port.name for port in self.outputs}
        unknown = [name for name in request.outputs if name not in known]
        if unknown:
            raise BadRequestError("the model has no such output", values={
                "given": ", ".join(unknown), "the model's": ", ".join(port.name for port in self.outputs)})

    def compute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, for inputs that were checked, in this thread and while nothing else is computed.

        Errors: ClinferError.
        """
        return self._named(self._infer(self._idle[0], inputs))

    async def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same in the background. When the task is cancelled, so is the inference.

        Errors: ClinferError.
        """
        async with self._turns:
            request = self._idle.pop()
            computing = asyncio.get_running_loop().run_in_executor(self._threads, self._infer, request, inputs)
            try:
                arrays = await asyncio.shield(computing)
            except asyncio.CancelledError:
                await _end(request, computing)
                raise
            finally:
                self._idle.append(request)
        return self._named(arrays)

    @property
    def device_bytes(self) -> int:
        """Device memory that is held."""
        return sum(self.compiled.engine.memory_statistics().values())

    def check_device(self) -> None:
        """Raise ClinferError where the device does not give back what it was given."""
        context = self.compiled.get_context()
        here, there = (context.create_host_tensor("u8", [16]) for _ in range(2))
        here.data[:] = random_bytes = np.random.default_rng().integers(0, 256, 16, np.uint8)
        tensor = context.create_tensor("u8", [16], {})
        tensor.copy_from(here)
        tensor.copy_to(there)
        if not np.array_equal(there.data, random_bytes):
            raise ClinferError("the device gives back other bytes than it was given", where=f"device {self.device}")

    def _named(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return {port.name: _decoded(port, array) for port, array in zip(self.outputs, arrays, strict=True)}

    def _infer(self, request: InferRequest, inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        if self.has_states:
            request.reset_state()
        given = {index: _encoded(inputs[name]) for name, index in self._index.items()}
        results = request.infer(given, share_inputs=True, decode_strings=False)
        return [results[index] for index in range(len(self.outputs))]


async def _end(request: InferRequest, computing: asyncio.Future[Sequence[np.ndarray]]) -> None:
    """Cancel an inference and wait until it is over, however often the caller is cancelled: the next one needs
    its request and its thread. Whether it had failed is told to nobody."""
    while not computing.done():
        # Cancelling a request that its thread has not begun yet has no effect.
        request.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([computing], timeout=_AGAIN_S)
    computing.exception()


def _port(port: ConstOutput, nameless: str) -> Port:
    datatype = datatype_of(ElementType.of(port.element_type.type_name).name)
    name = port.any_name if port.names else nameless
    if datatype is None:
        raise UnsupportedError("the Open Inference Protocol has no datatype for a port of the model", where="serving",
                               values={"port": name, "element type": port.element_type.type_name})
    shape = port.partial_shape
    if shape.rank.is_dynamic:
        return Port(name, datatype, (), has_open_rank=True)
    return Port(name, datatype, tuple(-1 if size.is_dynamic else size.get_length() for size in shape))


def _check_input(tensor: Tensor, port: Port) -> None:
    if tensor.datatype != port.datatype:
        raise BadRequestError("an input has another datatype than the model's", values={
            "tensor": tensor.name, "given": tensor.datatype, "the model's": port.datatype})
    shape = tensor.values.shape
    fits = port.has_open_rank or (len(shape) == len(port.shape) and
                                  all(size in (-1, given) for size, given in zip(port.shape, shape, strict=True)))
    if not fits:
        raise BadRequestError("an input has another shape than the model admits", values={
            "tensor": tensor.name, "given": list(shape), "the model's": list(port.shape)})


def _encoded(values: np.ndarray) -> np.ndarray:
    """What the engine takes: BYTES as NumPy's kind S."""
    if values.dtype != np.object_:
        return values
    if any(item.endswith(b"\0") for item in values.reshape(-1)):
        raise BadRequestError("texts that end with a zero byte would lose it")
    return np.array(values, np.bytes_) if values.size else np.empty(values.shape, "S1")


def _decoded(port: Port, values: np.ndarray) -> np.ndarray:
    """What the engine gives, as a Tensor's values: bf16 comes as raw bits."""
    if port.datatype == "BF16":
        return _BF16.decode(values.view(np.uint16).reshape(-1), values.size).reshape(values.shape)
    return values.astype(np.object_) if port.datatype == "BYTES" else values
