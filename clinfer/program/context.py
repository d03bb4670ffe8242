"""What passes are handed besides the graph."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.base.layout import Layout
from clinfer.base.part import Part
from clinfer.base.shape import Shape, show
from clinfer.base.shape_inference import ShapeInference, ShapeRule, Values
from clinfer.base.tracing import log
from clinfer.kernels.kernel_cache import KernelCache
from clinfer.kernels.selector import NONE_REFUSED
from clinfer.program.confirmed_shapes import confirmed
from clinfer.program.constants import ConstantData
from clinfer.program.graph import Graph, Node
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from clinfer.topology import Port, Primitive, Topology

NOTHING: Mapping[Port, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class BuildContext:
    """The device and the means of a build.

    `execute_constants` computes all outputs of a topology without inputs on the device, by an
    internal network. `stream` moves constants. `given`: contents of the topology's constants, by id, that are
    there already; they are shared, not copied. `refused`: by node, why candidates for it are out of the question.
    """

    engine: Engine
    stream: Stream
    kernels: KernelCache
    shape_inference: ShapeInference
    options: BuildOptions
    execute_constants: Callable[[Topology, BuildContext], dict[str, ConstantData]]
    given: Mapping[str, ConstantData] = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def refused_kernels(self, node: str) -> Mapping[str, str]:
        """The names of candidates that a node cannot have, with the reasons."""
        return self.refused.get(node, NONE_REFUSED)

    def known_value(self, graph: Graph, port: Port, found: Mapping[Port, np.ndarray] = NOTHING) -> np.ndarray | None:
        """A tensor's value, if it is a constant or among those `found` otherwise."""
        constant = graph.constants.get(port.primitive)
        return found.get(port) if constant is None else constant.on_host(self.stream)

    def number(self, graph: Graph, port: Port) -> float | None:
        """The value of a constant of one float, if it is finite."""
        data = graph.constants.get(port.primitive)
        if data is None or not data.layout.is_static or data.layout.count != 1 or not data.layout.element_type.is_float:
            return None
        value = float(data.on_host(self.stream).reshape(()))
        return value if math.isfinite(value) else None

    def known_values(self, graph: Graph, node: Node, found: Mapping[Port, np.ndarray] = NOTHING) -> Values:
        """The values of a node's value inputs, as far as they are known; see `known_value`."""
        values = {index: self.known_value(graph, node.inputs[index], found) for index in node.primitive.value_inputs}
        return {index: value for index, value in values.items() if value is not None}

    def as_part(self, graph: Graph, port: Port) -> Part | None:
        """A tensor as a part of input 0 of what makes it; None: it is none, or not for certain."""
        node = graph[port.primitive]
        if not node.inputs or node.primitive.output_padding or node.primitive.fused_ops:
            return None
        known = {index: self.known_value(graph, read) for index, read in enumerate(node.inputs) if index}
        values = {index: value for index, value in known.items() if value is not None}
        return node.primitive.as_part(port.index, graph.layout(node.inputs[0]).shape, values)

    def infer(self, graph: Graph, node: Node, found: Mapping[Port, np.ndarray] = NOTHING) -> tuple[Layout, ...]:
        """Planar output layouts (with the primitive's padding) of a node whose inputs are inferred."""
        primitive = node.primitive
        inputs = graph.input_layouts(node)
        types = tuple(x.element_type for x in inputs)
        signature = primitive.signature()
        own = primitive.shape_input_count
        shapes = tuple(x.shape for x in inputs[:own])
        values = self.known_values(graph, node, found)
        try:
            if signature is None:
                inferred = primitive.infer_shapes(shapes, values)
            else:
                inferred = self._by_rule(primitive, self.shape_inference.rule(signature, types[:own]), shapes, values)
            if None in inferred:
                opened = primitive.open_shapes(shapes)
                inferred = tuple(b if a is None else a for a, b in zip(inferred, opened, strict=True))
        except ClinferError as error:
            raise error.at(primitive.where) from None
        out_types = primitive.stored_types(types)
        return tuple(self._layout(node, shape, kind) for shape, kind in zip(inferred, out_types, strict=True))

    @staticmethod
    def _by_rule(primitive: Primitive, rule: ShapeRule, shapes: tuple[Shape, ...],
                 values: Values) -> tuple[Shape | None, ...]:
        told = rule(shapes, values)
        found = confirmed(rule, shapes, values, told)
        if found != told:
            log(1, f"{primitive.where}: its shape rule tells {' '.join(map(show, told))}, which sizes contradict; it "
                   f"is taken to be {' '.join(map(show, found))}")
        return found

    @staticmethod
    def _layout(node: Node, shape: Shape | None, element_type: ElementType) -> Layout:
        if shape is None:
            raise OpenRankError("a tensor of dynamic rank is not supported", where=node.primitive.where,
                                hint="give the model's inputs a static rank, for instance with model.reshape")
        layout = Layout.planar(shape, element_type)
        if node.primitive.stored_format is not None:
            layout = replace(layout, format=node.primitive.stored_format)
        padding = node.primitive.output_padding
        return Layout(layout.shape, layout.element_type, layout.format, padding) if padding else layout
