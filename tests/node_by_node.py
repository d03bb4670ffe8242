"""An oracle that runs a model node by node, so that nothing that OpenVINO does to whole models has a say.

Whole-model runs, OpenVINO's CPU plugin among them, transform a model before they run it, and what the
transformations break is broken in all of them alike. Here each operation is computed alone, from the values of its
inputs: in NumPy where `numpy_operations.py` or `numpy_layers.py` has it, else by OpenVINO's CPU plugin at f32 on a
model of that one node. The bodies of If, Loop and TensorIterator are walked in the same way; states are kept from call
to call.

    expected = NodeByNode(model)([x, y])            # as `tests.oracle.CpuPlugin(model)([x, y])`

Shapes are those that the values have; declared shapes are never looked at, except those of states without an
initial value and of joined outputs of loops that run no time. A node that cannot be computed raises `NodeError`.
A call on a small model takes tens of microseconds a node that NumPy computes, milliseconds for the others the first
time that they see a shape. Not fit for large models: every tensor lives until the call ends.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from clinfer.frontend.conversions import (
    bodies_of,
    constant_values,
    element_type_of,
    identity_of,
    is_constant,
    layer_of,
)
from clinfer.frontend.openvino_import import openvino as ov
from tests.numpy_layers import LAYERS
from tests.numpy_operations import OPERATIONS
from tests.oracle import CpuPlugin

_NARROW = "bf16"
IN_NUMPY = {**OPERATIONS, **LAYERS}
Altered = Callable[[np.ndarray], np.ndarray]


class NodeError(AssertionError):
    """A node that could not be computed; the message names it, the shapes of its inputs and the reason."""


class NodeByNode:
    """A model, runnable on NumPy arrays in the order of its inputs; bf16 tensors are arrays of f32, as in `CpuPlugin`.

    The given model stays as it is. An instance holds the model's states, as an infer request does. `altered`: what
    becomes of each constant and of each result of an operation before others read it.
    """

    def __init__(self, model: ov.Model, altered: Altered = lambda array: array) -> None:
        self._states: dict[str, np.ndarray] = {}
        self._walk = _Walk(model.clone(), self._states, altered)

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs in their order. Errors: NodeError."""
        return self._walk.run(inputs)

    def reset(self) -> None:
        """Forget the states."""
        self._states.clear()


class _Walk:
    """The nodes of a model or body in their order."""

    def __init__(self, model: ov.Model, states: dict[str, np.ndarray], altered: Altered) -> None:
        self.model = model
        self._altered = altered
        self._parameters = [identity_of(node.output(0)) for node in model.get_parameters()]
        self._results = [identity_of(node.input_value(0)) for node in model.get_results()]
        self._constants = {identity_of(node.output(0)): altered(_values_of(node))
                           for node in model.get_ordered_ops() if is_constant(node)}
        self._steps = [_Step(node, states, altered) for node in model.get_ordered_ops()
                       if node.get_type_name() not in ("Parameter", "Constant", "Result")]

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        values = {**self._constants, **dict(zip(self._parameters, inputs, strict=True))}
        for step in self._steps:
            outputs = step.run([values[source] for source in step.sources])
            values.update(zip(step.outputs, map(self._altered, outputs), strict=True))
        return [values[source] for source in self._results]


def _values_of(node: ov.op.Constant) -> np.ndarray:
    """The values of a Constant; bits, for which clinfer has no type, as u8."""
    if node.get_element_type() != ov.Type.u1:
        return constant_values(node, layer_of(node))
    shape = tuple(node.get_output_shape(0))
    return np.unpackbits(np.ravel(node.data), count=int(np.prod(shape))).reshape(shape)


class _Step:
    """One node."""

    def __init__(self, node: ov.Node, states: dict[str, np.ndarray], altered: Altered) -> None:
        self.sources = [identity_of(port) for port in node.input_values()]
        self.outputs = [identity_of(port) for port in node.outputs()]
        self._node = node
        self._states = states
        self._attributes = {**node.get_attributes(), "opset": node.get_type_info().version_id}
        types = {port.get_element_type().get_type_name() for port in [*node.inputs(), *node.outputs()]}
        self._in_numpy = _NARROW not in types and node.get_type_name() in {*IN_NUMPY, "Convert", "ShapeOf"}
        self._bodies = [_Walk(body, states, altered) for body in bodies_of(node)]
        self._alone: dict[tuple[tuple[int, ...], ...], CpuPlugin] = {}

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        try:
            return self._compute(inputs)
        except NodeError as error:
            raise NodeError(f"in {layer_of(self._node)}: {error}") from None
        except Exception as error:
            shapes = ", ".join(str(list(array.shape)) for array in inputs)
            raise NodeError(f"{layer_of(self._node)} on {shapes}: {type(error).__name__}: {error}") from error

    def _compute(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        kind = self._node.get_type_name()
        if kind == "If":
            return self._run_if(inputs)
        if self._bodies:
            return _Loop(self._node, self._bodies[0]).run(inputs)
        if kind in ("ReadValue", "Assign"):
            return [self._run_state(kind, inputs)]
        if not self._in_numpy:
            return self._run_alone(inputs)
        if kind in ("Convert", "ShapeOf"):
            values = inputs[0] if kind == "Convert" else np.array(inputs[0].shape)
            return [_converted(values, self._node.get_output_element_type(0))]
        try:
            found = IN_NUMPY[kind](inputs, self._attributes)
        except NotImplementedError:
            return self._run_alone(inputs)
        return found if isinstance(found, list) else [np.asarray(found)]

    def _run_if(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        branch = 0 if inputs[0].reshape(-1)[0] else 1
        given = {d.body_parameter_index: inputs[d.input_index] for d in self._node.get_input_descriptions(branch)}
        results = self._bodies[branch].run([given[i] for i in range(len(given))])
        order = {d.output_index: d.body_value_index for d in self._node.get_output_descriptions(branch)}
        return [results[order[i]] for i in range(len(order))]

    def _run_state(self, kind: str, inputs: list[np.ndarray]) -> np.ndarray:
        name = self._attributes["variable_id"]
        if kind == "Assign":
            self._states[name] = inputs[0]
        elif name not in self._states:
            self._states[name] = inputs[0] if inputs else _zeros(self._node.output(0))
        return self._states[name]

    def _run_alone(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """By the CPU plugin, on a model whose Parameters stand for what the node reads; constants stay."""
        shapes = tuple(array.shape for array in inputs)
        ports = [port for port in self._node.inputs() if not is_constant(self._node.input_value(
            port.get_index()).get_node())]
        if shapes not in self._alone:
            self._alone[shapes] = _first_alike(CpuPlugin(_one_node_model(self._node, shapes)))
        return self._alone[shapes]([inputs[port.get_index()] for port in ports])


def _first_alike(plugin: CpuPlugin) -> CpuPlugin:
    """The plugin that was made first for the same model: to compile one takes longer than to run it a hundred times."""
    return plugin if plugin.digest is None else _first_of(_Alike(plugin.digest, plugin))


@dataclass(frozen=True)
class _Alike:
    """A plugin, equal to others of its model."""

    digest: bytes
    plugin: CpuPlugin = field(compare=False)


@lru_cache(maxsize=256)
def _first_of(alike: _Alike) -> CpuPlugin:
    return alike.plugin


def _one_node_model(node: ov.Node, shapes: Sequence[tuple[int, ...]]) -> ov.Model:
    parameters = []
    for index, shape in enumerate(shapes):
        if not is_constant(node.input_value(index).get_node()):
            parameter = ov.op.Parameter(node.get_input_element_type(index), ov.PartialShape(list(shape)))
            node.input(index).replace_source_output(parameter.output(0))
            parameters.append(parameter)
    node.validate_and_infer_types()
    # A copy, which may be compiled when the node has inputs of other shapes.
    return ov.Model([ov.op.Result(port) for port in node.outputs()], parameters, "node").clone()


class _Loop:
    """A Loop or TensorIterator, as OpenVINO's descriptions join its body."""

    def __init__(self, node: ov.Node, body: _Walk) -> None:
        self._node, self._body = node, body
        self._taken, self._given = node.get_input_descriptions(), node.get_output_descriptions()
        is_loop = node.get_type_name() == "Loop"
        self._counter, self._condition = node.get_special_body_ports() if is_loop else (-1, -1)
        self._is_loop = is_loop

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        given = self._before(inputs)
        runs: list[list[np.ndarray]] = []
        for number in range(self._limit(inputs)):
            self._slice(inputs, number, given)
            runs.append(self._body.run([given[i] for i in range(len(self._body.model.get_parameters()))]))
            for d in self._taken:
                if isinstance(d, ov.op.util.MergedInputDescription):
                    given[d.body_parameter_index] = runs[-1][d.body_value_index]
            if self._condition >= 0 and not runs[-1][self._condition].reshape(-1)[0]:
                break
        outputs = {d.output_index: self._output(d, runs, given) for d in self._given}
        return [outputs[i] for i in range(len(outputs))]

    def _before(self, inputs: list[np.ndarray]) -> dict[int, np.ndarray]:
        return {d.body_parameter_index: inputs[d.input_index] for d in self._taken}

    def _limit(self, inputs: list[np.ndarray]) -> int:
        """The most runs; -1 of a Loop means without end."""
        if self._is_loop:
            if not inputs[1].reshape(-1)[0]:
                return 0
            count = int(inputs[0].reshape(-1)[0])
            return count if count >= 0 else np.iinfo(np.int64).max
        cut = next(d for d in self._taken if isinstance(d, ov.op.util.SliceInputDescription))
        size = inputs[cut.input_index].shape[cut.axis]
        first, last = (_place(bound, size) for bound in (cut.start, cut.end))
        return (abs(last - first) + 1) // abs(cut.stride)

    def _slice(self, inputs: list[np.ndarray], number: int, given: dict[int, np.ndarray]) -> None:
        for d in self._taken:
            if isinstance(d, ov.op.util.SliceInputDescription):
                data = inputs[d.input_index]
                at = _place(d.start, data.shape[d.axis]) + number * d.stride
                low = at if d.stride > 0 else at - d.part_size + 1
                given[d.body_parameter_index] = data.take(range(low, low + d.part_size), d.axis)
        if self._counter >= 0:
            parameter = self._body.model.get_parameters()[self._counter]
            shape = parameter.get_partial_shape()
            count = np.full((1,) if shape.rank.is_static and len(shape) else (), number)
            given[self._counter] = _converted(count, parameter.get_element_type())

    def _output(self, d: Any, runs: list[list[np.ndarray]], given: dict[int, np.ndarray]) -> np.ndarray:
        parts = [results[d.body_value_index] for results in runs]
        if isinstance(d, ov.op.util.ConcatOutputDescription):
            if any(part.shape[d.axis] != d.part_size for part in parts):
                raise NodeError(f"the body gives parts of other sizes than {d.part_size}")
            return np.concatenate(parts if d.stride > 0 else parts[::-1], d.axis) if parts else \
                _zeros(self._body.model.get_results()[d.body_value_index].output(0), d.axis)
        if parts:
            return parts[d.iteration]
        carried = (m for m in self._taken if isinstance(m, ov.op.util.MergedInputDescription)
                   and m.body_value_index == d.body_value_index)
        return given[next(carried).body_parameter_index]


def _place(bound: int, size: int) -> int:
    return bound + size if bound < 0 else bound


def _zeros(port: ov.Output, empty_axis: int | None = None) -> np.ndarray:
    """As declared, open dimensions 0."""
    shape = [size.get_min_length() for size in port.get_partial_shape()]
    if empty_axis is not None:
        shape[empty_axis] = 0
    return np.zeros(shape, element_type_of(port.get_element_type(), "state").numpy)


def _converted(values: np.ndarray, kind: ov.Type) -> np.ndarray:
    with np.errstate(all="ignore"):
        return values.astype(element_type_of(kind, "conversion").numpy)
