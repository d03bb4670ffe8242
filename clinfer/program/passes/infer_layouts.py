"""Finds the element type and the (possibly dynamic) shape of every tensor; all formats are planar."""
from __future__ import annotations

import numpy as np

from clinfer.base.layout import Layout
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.propagate_constants import replace_port
from clinfer.program.result_sizes import body_results
from clinfer.program.size_values import SizeValues
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import BodyResult, Constant, Port, SourceBody

_SHAPE_ELEMENTS = 64


def infer_layouts(graph: Graph, context: BuildContext) -> None:
    """Fill in `layouts` of every node and register the constants.

    Shape arithmetic whose results are already sure is computed on the way, because ranks may depend on it. What shape
    rules read of it becomes a constant where it follows from those sizes of a tensor that are known.
    """
    values: dict[Port, np.ndarray] = {}
    sizes = SizeValues(graph, context, names=None)
    for node in graph:
        given = context.given.get(node.id)
        if given is not None:
            node.layouts = (given.layout,)
            graph.constants[node.id] = given
            continue
        if node.primitive.bodies:
            graph.replace(node.id, node.primitive.with_results(
                [_results(body, context.of_part()) for body in node.primitive.bodies]))
        _settle(graph, node, context.known_values(graph, node, values), sizes)
        node.layouts = context.infer(graph, node, values)
        if isinstance(node.primitive, Constant):
            graph.constants[node.id] = ConstantData(node.layouts[0], array=node.primitive.value)
        elif node.primitive.can_evaluate and node.inputs and all(map(_is_small, node.layouts)):
            values |= _evaluate(graph, node, context, values)


def _settle(graph: Graph, node: Node, known: Values, sizes: SizeValues) -> None:
    """Let a node read constants in place of values that its shape rule reads, and that are sure although not all sizes
    are that they were computed from."""
    for index in set(node.primitive.value_inputs) - known.keys():
        port = node.inputs[index]
        layout, found = graph.layout(port), sizes.of(port)
        if found and all(isinstance(element, int) for element in found):
            value = np.array(found, layout.element_type.numpy).reshape(layout.static_shape)
            replace_port(graph, port, ConstantData(layout, array=value))


def _results(body: SourceBody, context: BuildContext) -> dict[str, BodyResult]:
    """What is known of what a body gives, by its names for that."""
    graph = Graph(body.topology)
    infer_layouts(graph, context)
    return body_results(graph, context)


def _evaluate(graph: Graph, node: Node, context: BuildContext,
              values: dict[Port, np.ndarray]) -> dict[Port, np.ndarray]:
    """The outputs of a node whose inputs are known (or, where it reads only that, have known shapes); else nothing."""
    layouts = graph.input_layouts(node)
    if node.primitive.reads_shapes_only:
        inputs = [np.empty(0) for layout in layouts if layout.is_static]
    else:
        small = [port for port, layout in zip(node.inputs, layouts, strict=True) if _is_small(layout)]
        inputs = [value for port in small if (value := context.known_value(graph, port, values)) is not None]
    if len(inputs) < len(layouts):
        return {}
    found = node.primitive.evaluate(tuple(inputs), tuple(layout.shape for layout in layouts))
    return {Port(node.id, index): value for index, value in enumerate(found)}


def _is_small(layout: Layout) -> bool:
    return layout.is_static and layout.count <= _SHAPE_ELEMENTS and not layout.element_type.is_float
