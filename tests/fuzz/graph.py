"""Graphs as plain data: what is drawn, run, cut down, sent between processes and printed.

A graph names its inputs and steps; a step is one operation of OpenVINO with operands (references or constants),
attributes, and bodies where it has any.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from openvino import opset16 as ops
from openvino.utils.node_factory import NodeFactory

from tests.oracle import ov, ov_type

OPSET = "opset16"
ELSEWHERE = {"ErfInv": "opset17", "Reverse": "opset1", "Xor": "opset1"}
"""Operations that `OPSET` lacks, and one that has them."""
_FACTORIES = {name: NodeFactory(name) for name in (OPSET, *ELSEWHERE.values())}
Dims = tuple["int | tuple[int, int]", ...]


@dataclass(frozen=True)
class Ref:
    """An input, or an output of a step."""

    name: str
    port: int = 0


Operand = Ref | np.ndarray


@dataclass(frozen=True)
class Input:
    """A Parameter: its dimensions are sizes, -1, or (least, most); None stands for an unknown rank."""

    name: str
    type: str
    dims: Dims | None

    @property
    def shape(self) -> ov.PartialShape:
        if self.dims is None:
            return ov.PartialShape.dynamic()
        return ov.PartialShape([ov.Dimension(*d) if isinstance(d, tuple) else ov.Dimension(d) for d in self.dims])


@dataclass(frozen=True)
class Step:
    """One operation. `wiring` joins the ports of a Loop or TensorIterator with its body: (kind, numbers...), see
    `_wire`. `Constant` has packed values: attributes "type" and "values". `Remember` is the value of a variable that
    is written back twice along "axis"."""

    name: str
    op: str
    operands: tuple[Operand, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[Graph, ...] = ()
    wiring: tuple[tuple[Any, ...], ...] = ()

    @property
    def refs(self) -> list[Ref]:
        return [o for o in self.operands if isinstance(o, Ref)]


@dataclass(frozen=True)
class Graph:
    """Inputs, steps in an order in which they can run, and outputs."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Ref, ...]

    def operations(self) -> Iterator[str]:
        """The names of all operations, those of bodies included."""
        for step in self.steps:
            yield step.op
            for body in step.bodies:
                yield from body.operations()

    def used(self) -> Graph:
        """Only the steps that outputs need; all inputs stay."""
        needed, kept = {ref.name for ref in self.outputs}, []
        for step in reversed(self.steps):
            if step.name in needed:
                kept.append(step)
                needed.update(ref.name for ref in step.refs)
        return replace(self, steps=tuple(kept[::-1]))


def dtype_of(kind: str) -> np.dtype[Any]:
    """NumPy's name of an element type."""
    return np.dtype(ov_type(kind).to_dtype())


def build(graph: Graph) -> ov.Model:
    """The model. Errors: RuntimeError where OpenVINO refuses it."""
    parameters = [ov.op.Parameter(ov_type(source.type), source.shape) for source in graph.inputs]
    ports = {Ref(source.name): node.output(0) for source, node in zip(graph.inputs, parameters, strict=True)}
    for source, node in zip(graph.inputs, parameters, strict=True):
        node.set_friendly_name(source.name)
    for step in graph.steps:
        node = node_of(step, ports)
        ports.update({Ref(step.name, port): node.output(port) for port in range(node.get_output_size())})
    results = [ov.op.Result(_port(ports, ref)) for ref in graph.outputs]
    written = [_assign(step, ports[Ref(step.name)]) for step in graph.steps if step.op == "Remember"]
    return ov.Model(results, written, parameters, "random")


def node_of(step: Step, ports: Mapping[Ref, ov.Output]) -> ov.Node:
    """The operation on these ports. Errors: RuntimeError where OpenVINO refuses it."""
    operands = [_port(ports, o) if isinstance(o, Ref) else _constant(o, step.op).output(0) for o in step.operands]
    if step.op == "Constant":
        values = np.asarray(step.attributes["values"])
        node = ov.op.Constant(ov_type(step.attributes["type"]), ov.Shape(list(values.shape)), values.ravel().tolist())
    elif step.op == "Remember":
        shape = operands[0].get_partial_shape()
        shape[step.attributes["axis"]] = ov.Dimension()
        node = ops.read_value(operands[0], step.name, operands[0].get_element_type(), shape)
    elif step.op == "If":
        node = _branches(step, operands)
    elif step.bodies:
        node = _wire(step, operands)
    else:
        node = _FACTORIES[ELSEWHERE.get(step.op, OPSET)].create(step.op, operands, dict(step.attributes))
    node.set_friendly_name(step.name)
    return node


def _constant(values: np.ndarray, op: str) -> ov.op.Constant:
    """What an operation reads: of numbers of its own type, or of bits."""
    if op != "BinaryConvolution":
        return ov.op.Constant(values)
    return ov.op.Constant(ov.Type.u1, ov.Shape(list(values.shape)), values.ravel().tolist())


def _port(ports: Mapping[Ref, ov.Output], ref: Ref) -> ov.Output:
    """An input, or an output of a step. Errors: RuntimeError where OpenVINO gives the step fewer outputs, as a
    VariadicSplit whose lengths have no known shape."""
    if ref not in ports:
        raise RuntimeError(f"OpenVINO gives {ref.name} no output {ref.port}")
    return ports[ref]


def _assign(step: Step, read: ov.Output) -> ov.Node:
    return ops.assign(ops.concat([read, read], step.attributes["axis"]), step.name)


def _branches(step: Step, operands: Sequence[ov.Output]) -> ov.Node:
    """Both bodies take every operand after the condition."""
    then, other = (build(body) for body in step.bodies)
    node = ops.if_op(operands[0])
    node.set_then_body(then)
    node.set_else_body(other)
    for port, one, two in zip(operands[1:], then.get_parameters(), other.get_parameters(), strict=True):
        node.set_input(port, one, two)
    for one, two in zip(then.get_results(), other.get_results(), strict=True):
        node.set_output(one, two)
    return node


def _wire(step: Step, operands: Sequence[ov.Output]) -> ov.Node:
    """A Loop (operands: count, condition, data...) or a TensorIterator (data...).

    Wiring, with numbers of operands, of the body's inputs and of its outputs:
    ("ports", counter input, condition output); ("merged", operand, input, output); ("kept", operand, input);
    ("sliced", operand, input, start, stride, end, axis); ("last", output);
    ("joined", output, start, stride, end, axis).
    """
    body = build(step.bodies[0])
    inputs, results = body.get_parameters(), [r.input_value(0) for r in body.get_results()]
    if step.op == "Loop":
        node = ops.loop(operands[0], operands[1])
    else:
        node = ops.tensor_iterator()
    node.set_function(body)
    for kind, *n in step.wiring:
        if kind == "ports":
            node.set_special_body_ports(list(n))
        elif kind == "merged":
            node.set_merged_input(inputs[n[1]], operands[n[0]], results[n[2]])
        elif kind == "kept":
            node.set_invariant_input(inputs[n[1]], operands[n[0]])
        elif kind == "sliced":
            node.set_sliced_input(inputs[n[1]], operands[n[0]], n[2], n[3], 1, n[4], n[5])
        elif kind == "last":
            node.get_iter_value(results[n[0]], -1)
        else:
            node.get_concatenated_slices(results[n[0]], n[1], n[2], 1, n[3], n[4])
    node.validate_and_infer_types()
    return node
