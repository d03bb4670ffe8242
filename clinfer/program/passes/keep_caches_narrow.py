"""Lets attention read keys and values as a cache holds them: narrow floats, or rows of bytes."""
from __future__ import annotations

from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.ops.byte_rows import DequantiseRows
from clinfer.ops.convert import Convert
from clinfer.ops.sdpa import ScaledDotProductAttention
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node

_NARROW = (ElementType.of("f16"), ElementType.of("bf16"))
_KEY, _VALUE = 1, 2


def keep_caches_narrow(graph: Graph, context: BuildContext) -> None:
    """Attention whose keys or values were widened reads what they were widened from; on CPUs also attention whose keys
    and values were made of rows of bytes.

    Kernels widen as they load and compute in f32, so no wide copy of a cache is made.
    """
    reads_bytes = context.engine.capabilities.device_type == "CPU"
    for node in graph:
        if isinstance(node.primitive, ScaledDotProductAttention):
            for index in (_KEY, _VALUE):
                _read_narrow(graph, node, index)
            if reads_bytes:
                _read_byte_rows(graph, node)


def _read_narrow(graph: Graph, node: Node, index: int) -> None:
    source = graph[node.inputs[index].primitive]
    if (isinstance(source.primitive, Convert) and not source.primitive.fused_ops
            and graph.element_type(source.inputs[0]) in _NARROW
            and source.layouts[0].element_type.name == "f32"):
        graph.set_input(node.id, index, source.inputs[0])
        graph.remove_unread(source.id)


def _read_byte_rows(graph: Graph, node: Node) -> None:
    sources = [graph[node.inputs[index].primitive] for index in (_KEY, _VALUE)]
    if not all(isinstance(source.primitive, DequantiseRows) and not source.primitive.fused_ops for source in sources):
        return
    primitive = node.primitive
    assert isinstance(primitive, ScaledDotProductAttention)
    for index, source in zip((_KEY, _VALUE), sources, strict=True):
        shape = source.layouts[0].shape
        size, part = shape[-1], primitive.part(index, len(shape))
        assert isinstance(size, int)
        if part.axes[-1] != len(shape) - 1 or any(axis == len(shape) - 1 for axis, _, _ in part.cuts):
            return
        own = part.cut(len(part.axes) - 1, 0, size)
        primitive = primitive.reading(index, source.inputs[0], own)
    graph.replace(node.id, replace(primitive, in_byte_rows=True))
    for source in sources:
        graph.remove_unread(source.id)
