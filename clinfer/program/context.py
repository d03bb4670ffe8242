"""What passes are handed besides the graph."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.base.format import IMAGE_2D
from clinfer.base.layout import Layout
from clinfer.base.part import Part
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size
from clinfer.kernels.kernel_cache import LoadedKernels
from clinfer.kernels.selector import NONE_REFUSED
from clinfer.program.alike import AlikeNodes
from clinfer.program.constants import ConstantData
from clinfer.program.graph import Graph, Node
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from clinfer.symbolic.shape_inference import ShapeInference, Values
from clinfer.topology import Input, Port, Primitive, Topology
from clinfer.topology.shape_rules import PrimitiveRule

NOTHING: Mapping[Port, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class BuildContext:
    """The device and the means of a build.

    `execute_constants` computes all outputs of a topology without inputs on the device, by an
    internal network. `stream` moves constants. `given`: contents of the topology's constants, by id, that are
    there already; they are shared, not copied. `refused`: by node, why candidates for it are out of the question.
    `alike`: what was found out of nodes so far, for those that are like them.
    """

    engine: Engine
    stream: Stream
    kernels: LoadedKernels
    shape_inference: ShapeInference
    options: BuildOptions
    execute_constants: Callable[[Topology, BuildContext], dict[str, ConstantData]]
    given: Mapping[str, ConstantData] = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alike: AlikeNodes = field(default_factory=AlikeNodes)

    def of_part(self) -> BuildContext:
        """The means of building bodies and what makes first values: nothing of the whole is forced or given there."""
        return replace(self, options=replace(self.options, force_implementations={}), given={})

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

    def known_values(self, graph: Graph, node: Node) -> Values:
        """The values of a node's value inputs, as far as they are known; see `known_value`."""
        values = {index: self.known_value(graph, node.inputs[index]) for index in node.primitive.value_inputs}
        return {index: value for index, value in values.items() if value is not None}

    def as_part(self, graph: Graph, port: Port) -> Part | None:
        """A tensor as a part of input 0 of what makes it; None: it is none, or not for certain."""
        node = graph[port.primitive]
        if not node.inputs or node.primitive.output_padding or node.primitive.fused_ops:
            return None
        known = {index: self.known_value(graph, read) for index, read in enumerate(node.inputs) if index}
        values = {index: value for index, value in known.items() if value is not None}
        return node.primitive.as_part(port.index, graph.layout(node.inputs[0]).shape, values)

    def infer(self, graph: Graph, node: Node, partial: Values | None = None) -> tuple[Layout, ...]:
        """Planar output layouts (with the primitive's padding) of a node whose inputs are inferred; `partial`: what is
        known of its `partial_values`."""
        primitive = node.primitive
        inputs = graph.input_layouts(node)
        types = tuple(x.element_type for x in inputs)
        own = primitive.shape_input_count
        shapes = tuple(x.shape for x in inputs[:own])
        try:
            inferred = self.rule(primitive, types)(shapes, {**(partial or {}), **self.known_values(graph, node)})
        except ClinferError as error:
            raise error.at(primitive.where) from None
        out_types = primitive.stored_types(types)
        return tuple(self._layout(node, shape, kind) for shape, kind in zip(inferred, out_types, strict=True))

    def rule(self, primitive: Primitive, types: tuple[ElementType, ...]) -> PrimitiveRule:
        """The shape rule of a primitive with inputs of these types."""
        return PrimitiveRule(primitive, types[:primitive.shape_input_count], self.shape_inference)

    @staticmethod
    def _layout(node: Node, shape: Shape | None, element_type: ElementType) -> Layout:
        if shape is None:
            raise OpenRankError("a tensor of dynamic rank is not supported", where=node.primitive.where,
                                hint="give the model's inputs a static rank, for instance with model.reshape")
        layout = Layout.planar(tuple(map(_size, shape)), element_type)
        if isinstance(node.primitive, Input) and node.primitive.is_surface:
            layout = replace(layout, format=IMAGE_2D)
        padding = node.primitive.output_padding
        return Layout(layout.shape, layout.element_type, layout.format, padding) if padding else layout


def _size(size: Size) -> Size:
    """A size as layouts have it: not below 0, without a name, and a number if its bounds leave only one."""
    if not isinstance(size, Dim):
        return size
    low, high = max(size.low, 0), min(size.high, UNBOUNDED)
    return low if low == high else Dim(low, max(high, low))
