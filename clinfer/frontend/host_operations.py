"""Operations that OpenVINO's CPU plugin computes in the middle of a model: each is a model of its own."""
from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, UnsupportedError
from clinfer.base.host_function import Evaluate, HostFunction
from clinfer.base.scratch import scratch_folder
from clinfer.base.shape import Dim, Shape, show
from clinfer.frontend.conversions import (
    OPENVINO_ERRORS,
    element_type_of,
    is_constant,
    is_on_device,
    layer_of,
    partial_shape_of,
    reason_of,
    shape_of,
    static_shape_of,
)
from clinfer.frontend.host_tensors import host_tensor_over, string_tensor, string_values
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.topology import HostOperation, Port

_STRUCTURE = ("Parameter", "Constant", "Result")
_RIGHT_FOR_PACKED = ("Convert", "ConvertLike", "Reshape", "Squeeze", "Unsqueeze", "ShapeOf")
_NEVER_FOLDED = ("RandomUniform", "Multinomial")
STATES = ("ReadValue", "Assign")
"""What these keep outlives an inference, which an operation by itself cannot see to."""
# Threads that OpenVINO pins to cores stand in the way of an OpenCL device that is the same processor. Its cache of
# compiled operations gives wrong results for some sequences of shapes.
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
             "ENABLE_CPU_PINNING": False, "CPU_RUNTIME_CACHE_CAPACITY": "0", "CACHE_DIR": ""}


class OpenVinoFunction(HostFunction):
    """A model of one operation, compiled for OpenVINO's CPU plugin when it is first needed; safe for use by several
    threads. `core`: what compiles it (None: one of its own)."""

    def __init__(self, core: ov.Core | None, model: ov.Model) -> None:
        self._core = core
        self._model = model
        self._reshaped: ov.Model | None = None
        self._lock = threading.Lock()
        self._compiled: ov.CompiledModel | None = None

    @property
    def model(self) -> ov.Model:
        """The operation between Parameters and Results, with its constants."""
        return self._model

    @property
    def input_types(self) -> tuple[ElementType, ...]:
        return _types_of(self._model.inputs)

    @property
    def output_types(self) -> tuple[ElementType, ...]:
        return _types_of(self._model.outputs)

    def compile(self) -> ov.CompiledModel:
        """The model made ready. Errors: ClinferError with what OpenVINO says of it."""
        with self._lock:
            if self._compiled is None:
                try:
                    self._compiled = (self._core or ov.Core()).compile_model(self._model, "CPU", _SETTINGS)
                except OPENVINO_ERRORS as error:
                    raise ClinferError("OpenVINO cannot run this operation on the host", values={
                        "OpenVINO says": reason_of(error)}) from None
            return self._compiled

    def output_shapes(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        with self._lock:
            # What is compiled and written down keeps its shapes.
            self._reshaped = model = self._reshaped or self._model.clone()
            try:
                model.reshape({index: partial_shape_of(_unnamed(shape)) for index, shape in enumerate(shapes)})
            except OPENVINO_ERRORS as error:
                raise ClinferError("the operation does not take inputs of these shapes", values={
                    "shapes": ", ".join(map(show, shapes)), "OpenVINO says": reason_of(error)}) from None
            return tuple(shape_of(port.get_partial_shape()) for port in model.outputs)

    def start(self) -> Evaluate:
        return _Session(self.compile(), self.input_types, self.output_types)

    def serialized(self) -> tuple[bytes, bytes]:
        """The model as an IR: its graph and its weights. Errors: ClinferError where OpenVINO cannot write it."""
        with scratch_folder() as folder:
            graph, weights = Path(folder) / "model.xml", Path(folder) / "model.bin"
            try:
                ov.serialize(self._model, graph, weights)
            except OPENVINO_ERRORS as error:
                raise ClinferError("OpenVINO cannot write this operation down", where="export", values={
                    "operation": self._model.get_friendly_name(), "OpenVINO says": reason_of(error)}) from None
            return graph.read_bytes(), weights.read_bytes()


def read_function(core: ov.Core, graph: bytes, weights: bytes) -> OpenVinoFunction:
    """The reverse of `serialized`. Errors: ClinferError for what is not one operation between Parameters and Results,
    and for an operation of an extension that the core does not have."""
    try:
        model = core.read_model(graph, weights)
    except OPENVINO_ERRORS as error:
        raise ClinferError("a host operation of the blob cannot be read", where="import of a model", values={
            "OpenVINO says": reason_of(error)}, hint="add the extension that has it before the import") from None
    kinds = [node.get_type_name() for node in model.get_ops() if node.get_type_name() not in _STRUCTURE]
    if len(kinds) != 1:
        raise ClinferError("a host operation of the blob is not one operation", where="import of a model",
                           values={"operations": ", ".join(kinds)})
    return OpenVinoFunction(core, model)


def _infer_of_base(kind: Any) -> Callable[..., Any]:
    """`infer` as OpenVINO's own class has it below the one that Python sees."""
    return next(vars(base)["infer"] for base in reversed(kind.__mro__) if "infer" in vars(base))


_infer_bare = _infer_of_base(ov.InferRequest)


class _Session:
    """One infer request. Results are views of its tensors."""

    def __init__(self, compiled: ov.CompiledModel, inputs: tuple[ElementType, ...],
                 outputs: tuple[ElementType, ...]) -> None:
        self._request = compiled.create_infer_request()
        self._inputs = inputs
        self._outputs = outputs
        self._given: list[ov.Tensor | None] = [None] * len(inputs)
        self._arrays: list[np.ndarray | None] = [None] * len(inputs)

    def __call__(self, inputs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        if any(kind.is_string and not value.size for kind, value in zip(self._inputs, inputs, strict=True)):
            raise ClinferError("a tensor of strings has no elements", hint="give one text at least; OpenVINO computes "
                               "nothing of none, and leaves the results of the run before")
        try:
            for index, value in enumerate(inputs):
                if value is not self._arrays[index]:
                    self._give(index, value)
            self._infer()
        except Exception as error:
            raise ClinferError("the operation failed on the host", values={
                "shapes": ", ".join(str(value.shape) for value in inputs), "OpenVINO says": reason_of(error)}) from None
        return tuple(_values_of(self._request.get_output_tensor(index), kind)
                     for index, kind in enumerate(self._outputs))

    def _give(self, index: int, value: np.ndarray) -> None:
        """Make an array an input; it stays one while it is given again, if the tensor lies in its memory."""
        kind = self._inputs[index]
        # The request does not keep the memory of its tensors.
        self._given[index] = tensor = _tensor_of(value, kind)
        self._request.set_input_tensor(index, tensor)
        self._arrays[index] = value if _is_plain(kind) and value.flags.c_contiguous else None

    def _infer(self) -> None:
        """Run, by the ways that make the least of results: dictionaries, and copies of strings, cost more than many an
        operation."""
        if any(kind.is_string for kind in self._outputs):
            self._request.start_async()
            self._request.wait()
        else:
            _infer_bare(self._request, {}, share_outputs=True, decode_strings=False)


class HostOperations:
    """Makes host operations of nodes. `core` knows the extensions that the model uses; `layers` are to become host
    operations even where there are kernels."""

    def __init__(self, core: ov.Core, layers: Sequence[str] = ()) -> None:
        self._core = core
        self._layers = frozenset(layers)

    def including(self, layers: Sequence[str]) -> HostOperations:
        """The same, for further layers too."""
        return HostOperations(self._core, (*self._layers, *layers))

    def demands(self, node: ov.Node) -> bool:
        """Whether a node is to be one whatever there is for it."""
        return node.get_friendly_name() in self._layers

    def primitive(self, node: ov.Node, id: str, inputs: Sequence[Port]) -> HostOperation:
        """The primitive of a node; `inputs` are the ports of those that are not constant. Errors: ClinferError where
        OpenVINO cannot run it, UnsupportedError for types of elements that clinfer does not have."""
        where = layer_of(node)
        if node.get_type_name() in STATES:
            raise UnsupportedError("a state cannot be kept by an operation of its own", where=where)
        types = _types_of(node.outputs(), where)
        return HostOperation(id, tuple(inputs), origin=node.get_friendly_name(), operation=node.get_type_name(),
                             function=self._function(node), types=types,
                             shapes=tuple(shape_of(port.get_partial_shape()) for port in node.outputs()))

    def fold(self, node: ov.Node) -> tuple[np.ndarray, ...] | None:
        """The outputs of a node that reads constants alone; None if it does not, or may give others each time."""
        is_known = node.get_type_info().version_id.startswith("opset")
        is_drawn = node.get_type_name() in _NEVER_FOLDED + STATES
        goes_to_device = all(is_on_device(port.get_element_type()) for port in node.outputs())
        if not is_known or is_drawn or not goes_to_device or not all(
                is_constant(port.get_node()) for port in node.input_values()):
            return None
        return tuple(value.copy() for value in self._function(node).start()(()))

    def _function(self, node: ov.Node) -> OpenVinoFunction:
        _refuse_peepholes(node)
        _refuse_packed(node)
        function = OpenVinoFunction(self._core, isolated(node))
        try:
            function.compile()
        except ClinferError as error:
            raise error.at(layer_of(node)) from None
        return function


def _refuse_peepholes(node: ov.Node) -> None:
    """OpenVINO's CPU plugin leaves the peepholes and `input_forget` of the LSTMCell of opset1 out."""
    if node.get_type_name() != "LSTMCell" or node.get_input_size() != 7:
        return
    peepholes = node.input_value(6).get_node()
    is_zero = is_constant(peepholes) and not peepholes.data.any()
    if not is_zero or node.get_attributes()["input_forget"]:
        raise UnsupportedError("OpenVINO would leave out the peepholes, or input_forget, of this operation",
                               where=layer_of(node))


def _refuse_packed(node: ov.Node) -> None:
    """What moves elements of 2 and 4 bits in OpenVINO's CPU plugin takes them for bytes, unless they are u4 or i4, and
    writes beyond its memory. Operations of extensions see to themselves."""
    if node.get_type_name() in _RIGHT_FOR_PACKED or not node.get_type_info().version_id.startswith("opset"):
        return
    for port in (*node.input_values(), *node.outputs()):
        kind = port.get_element_type()
        if kind.bitwidth < 8 and not is_on_device(kind):
            raise UnsupportedError(f"OpenVINO would take elements of type {kind.get_type_name()} for bytes here",
                                   where=layer_of(node), hint="convert them first")


def _unnamed(shape: Shape | None) -> Shape | None:
    return shape and tuple(Dim(size.low, size.high) if isinstance(size, Dim) else int(size) for size in shape)


def isolated(node: ov.Node) -> ov.Model:
    """A model of one node, with its constants, and with a Parameter for each other input."""
    sources = node.input_values()
    parameters = {index: ov.op.Parameter(port.get_element_type(), port.get_partial_shape())
                  for index, port in enumerate(sources) if not is_constant(port.get_node())}
    for index, parameter in parameters.items():
        node.input(index).replace_source_output(parameter.output(0))
    try:
        results = [ov.op.Result(port) for port in node.outputs()]
        return ov.Model(results, list(parameters.values()), node.get_friendly_name()).clone()
    except OPENVINO_ERRORS as error:
        raise UnsupportedError("OpenVINO cannot take this operation out of its model", where=layer_of(node),
                               values={"OpenVINO says": reason_of(error)}) from None
    finally:
        for index in parameters:
            node.input(index).replace_source_output(sources[index])
        node.validate_and_infer_types()


def _types_of(ports: Iterable[ov.Output], where: str = "host operation") -> tuple[ElementType, ...]:
    return tuple(element_type_of(port.get_element_type(), where) for port in ports)


def _tensor_of(value: np.ndarray, kind: ElementType) -> ov.Tensor:
    if kind.is_string:
        return string_tensor(value)
    return host_tensor_over(kind.encode(value.reshape(-1)), kind, value.shape)


def _is_plain(kind: ElementType) -> bool:
    """Whether NumPy has such numbers."""
    return not (kind.is_string or kind.is_encoded or kind.is_on_host_only)


def _values_of(tensor: ov.Tensor, kind: ElementType) -> np.ndarray:
    if _is_plain(kind):
        return tensor.data
    if kind.is_string:
        return string_values(tensor)
    shape = static_shape_of(tensor.get_shape())
    return kind.decode(tensor.data.view(kind.storage).reshape(-1), math.prod(shape)).reshape(shape)
