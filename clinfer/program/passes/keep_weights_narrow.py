"""Lets kernels read weights in the narrow float type in which the model stores them."""
from __future__ import annotations

from clinfer.base.element_type import FLOAT8_TYPES, ElementType
from clinfer.ops.convert import Convert
from clinfer.ops.matmul import MatMul
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph

_NARROW = (ElementType.of("f16"), ElementType.of("bf16"))
"""What all kernels load as weights; those of products load floats of 8 bits too."""


def keep_weights_narrow(graph: Graph, context: BuildContext) -> None:
    """A weights input that reads a widened constant of a narrow float type reads the constant itself.

    Kernels widen weights as they load them, so the device never holds the wide copy.
    """
    for node in graph:
        index = node.primitive.weights_input
        if index is None:
            continue
        source = graph[node.inputs[index].primitive]
        if not isinstance(source.primitive, Convert) or source.inputs[0].primitive not in graph.constants:
            continue
        able = (*_NARROW, *FLOAT8_TYPES) if isinstance(node.primitive, MatMul) else _NARROW
        if graph.element_type(source.inputs[0]) in able and source.layouts[0].element_type.is_float:
            graph.set_input(node.id, index, source.inputs[0])
