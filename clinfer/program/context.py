"""What passes are handed besides the graph."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape
from clinfer.base.shape_inference import ShapeInference, Values
from clinfer.kernels.kernel_cache import KernelCache
from clinfer.program.constants import ConstantData
from clinfer.program.graph import Graph, Node
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from clinfer.topology import Topology


@dataclass(frozen=True)
class BuildContext:
    """The device and the means of a build.

    `execute_constants` computes all outputs of a topology without inputs on the device, by an
    internal network. `stream` moves constants.
    """

    engine: Engine
    stream: Stream
    kernels: KernelCache
    shape_inference: ShapeInference
    options: BuildOptions
    execute_constants: Callable[[Topology, BuildContext], dict[str, ConstantData]]

    def known_values(self, graph: Graph, node: Node) -> Values:
        """The values of a node's value inputs that are constants."""
        known: dict[int, np.ndarray] = {}
        for index in node.primitive.value_inputs:
            constant = graph.constants.get(node.inputs[index].primitive)
            if constant is not None:
                known[index] = constant.on_host(self.stream)
        return known

    def infer(self, graph: Graph, node: Node) -> tuple[Layout, ...]:
        """Planar output layouts (with the primitive's padding) of a node whose inputs are inferred."""
        primitive = node.primitive
        inputs = graph.input_layouts(node)
        types = tuple(x.element_type for x in inputs)
        signature = primitive.signature()
        shapes = tuple(x.shape for x in inputs)
        values = self.known_values(graph, node)
        try:
            if signature is None:
                found = primitive.infer_shapes(shapes, values)
            else:
                found = self.shape_inference.rule(signature, types)(shapes, values)
            if None in found:
                known = primitive.open_shapes(shapes)
                found = tuple(b if a is None else a for a, b in zip(found, known, strict=True))
        except ClinferError as error:
            raise error.at(primitive.where) from None
        out_types = primitive.output_types(types)
        return tuple(self._layout(node, shape, kind) for shape, kind in zip(found, out_types, strict=True))

    @staticmethod
    def _layout(node: Node, shape: Shape | None, element_type: ElementType) -> Layout:
        if shape is None:
            raise ClinferError("a tensor of dynamic rank is not supported", where=node.primitive.where,
                               hint="give the model's inputs a static rank, for instance with model.reshape")
        layout = Layout.planar(shape, element_type)
        padding = node.primitive.output_padding
        return Layout(layout.shape, layout.element_type, layout.format, padding) if padding else layout
