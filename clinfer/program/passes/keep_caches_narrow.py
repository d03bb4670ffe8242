"""Lets attention read keys and values in the narrow float type in which a cache holds them."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.ops.convert import Convert
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph

_NARROW = (ElementType.of("f16"), ElementType.of("bf16"))
_KEY, _VALUE = 1, 2


def keep_caches_narrow(graph: Graph, context: BuildContext) -> None:
    """Attention whose keys or values were widened reads what they were widened from.

    Kernels widen as they load and compute in f32, so no wide copy of a cache is made.
    """
    for node in graph:
        if not isinstance(node.primitive, ScaledDotProductAttention):
            continue
        for index in (_KEY, _VALUE):
            source = graph[node.inputs[index].primitive]
            if (isinstance(source.primitive, Convert) and not source.primitive.fused_ops
                    and graph.element_type(source.inputs[0]) in _NARROW
                    and source.layouts[0].element_type.name == "f32"):
                graph.set_input(node.id, index, source.inputs[0])
                graph.remove_unread(source.id)
