"""Lets products and convolutions of integers whose sums become floats compute in floats."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import as_floats, integers_of_bytes
from clinfer.program.passes.insertion import constant_before, inserted
from clinfer.topology import Port

_MOST_WEIGHT = 255


def float_integer_products(graph: Graph, context: BuildContext) -> None:
    """Where data of bytes less a zero point meet constant weights of bytes in i32 (MatMulInteger, ConvInteger), and all
    that reads the sums is a Convert to f32.

    Kernels of integers are slow ones. In f32 every product is exact, and so are sums below 2^24, whatever their order;
    `note_data_grids` then finds those that can be added up in whole numbers.
    """
    for node in graph:
        primitive = node.primitive
        if not isinstance(primitive, (MatMul, Convolution)) or node.layouts[0].element_type.name != "i32":
            continue
        convert = _only_conversion(graph, node)
        found = None if convert is None else integers_of_bytes(graph, context, node.inputs[0])
        weights = None if found is None else _weights(graph, context, node)
        if convert is None or found is None or weights is None:
            continue
        data = as_floats(graph, found.values) or _convert(graph, context, node, found.values)
        if found.zero_point is not None:
            zero = _convert(graph, context, node, found.zero_point)
            data = inserted(graph, context, node, Eltwise(graph.unique_id(f"{node.id}/data"), (data, zero),
                                                          mode="Subtract", origin=primitive.origin))
        product = inserted(graph, context, node, replace(primitive, id=graph.unique_id(f"{node.id}/f32"),
                                                         inputs=(data, constant_before(
                                                             graph, node, "weights", weights.astype(np.float32)))))
        graph.redirect(Port(convert.id), product)
        graph.remove_unread(convert.id)


def _weights(graph: Graph, context: BuildContext, node: Node) -> np.ndarray | None:
    """Constant weights of bytes, the only input besides the data."""
    primitive = node.primitive
    data = graph.constants.get(node.inputs[1].primitive)
    if data is None or len(node.inputs) != 2 or primitive.output_padding or not data.layout.is_static:
        return None
    values = data.on_host(context.stream)
    return values if np.abs(values, dtype=np.int64).max(initial=0) <= _MOST_WEIGHT else None


def _only_conversion(graph: Graph, node: Node) -> Node | None:
    """The only reader of a node, if it is a Convert to f32."""
    readers = graph.readers(Port(node.id))
    if graph.is_output(node.id) or len(readers) != 1:
        return None
    reader = readers[0][0]
    is_convert = isinstance(reader.primitive, Convert) and not reader.primitive.fused_ops \
        and not reader.primitive.output_padding
    return reader if is_convert and reader.layouts[0].element_type.name == "f32" else None


def _convert(graph: Graph, context: BuildContext, reader: Node, port: Port) -> Port:
    return inserted(graph, context, reader, Convert(graph.unique_id(f"{port}/f32"), (port,), destination_type="f32",
                                                    origin=reader.primitive.origin))
