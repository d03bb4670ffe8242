"""Finds the element type and the (possibly dynamic) shape of every tensor; all formats are planar."""
from __future__ import annotations

import numpy as np

from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.propagate_constants import replace_port
from clinfer.program.result_sizes import body_results
from clinfer.program.size_values import SizeValues
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import BodyResult, Constant, Port, SourceBody


def infer_layouts(graph: Graph, context: BuildContext) -> None:
    """Fill in `layouts` of every node and register the constants.

    Shape arithmetic whose results are sure, because they follow from constants and from those sizes that are known, is
    computed on the way: ranks may depend on it, and so may what is worth fusing.
    """
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
        node.layouts = context.infer(graph, node, _partial(node, sizes))
        if isinstance(node.primitive, Constant):
            graph.constants[node.id] = ConstantData(node.layouts[0], array=node.primitive.value)
        elif node.primitive.can_evaluate and node.inputs:
            _settle(graph, node, sizes)


def _partial(node: Node, sizes: SizeValues) -> Values:
    """What is known of the values of which a node's shape rule takes parts."""
    known = {index: sizes.of(node.inputs[index]) for index in node.primitive.partial_values}
    return {index: np.array([element if isinstance(element, int) else None for element in elements], object)
            for index, elements in known.items() if elements}


def _settle(graph: Graph, node: Node, sizes: SizeValues) -> None:
    """Let whoever reads a node's small integers read constants in their place, if they are sure."""
    for index, layout in enumerate(node.layouts):
        value = sizes.numbers(Port(node.id, index))
        if value is not None:
            replace_port(graph, Port(node.id, index), ConstantData(layout, array=value))


def _results(body: SourceBody, context: BuildContext) -> dict[str, BodyResult]:
    """What is known of what a body gives, by its names for that."""
    graph = Graph(body.topology)
    infer_layouts(graph, context)
    return body_results(graph, context)
