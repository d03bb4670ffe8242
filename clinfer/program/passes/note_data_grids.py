"""Notes of products and convolutions with weights of 8 bits that their data are whole numbers times a step."""
from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clinfer.base.grid import Grid
from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import StaticShape
from clinfer.ops.convert import Convert
from clinfer.ops.convolution import Convolution
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.ops.quantised_convolution import QuantisedConvolution
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.byte_values import Bytes, floats_of_bytes
from clinfer.program.passes.insertion import constant_before, inserted
from clinfer.program.passes.spread import sources_of
from clinfer.program.passes.store_on_grids import grid_of_levels
from clinfer.program.passes.whole_numbers import whole_numbers_of
from clinfer.topology import Port

MOST_DEPTH = 1 << 16
"""Products of bytes of which every sum fits 32 bits."""
MANY_CHANNELS, LEAST_INPUTS, LEAST_OUTPUTS, LEAST_OUTPUTS_IN_REGISTERS = 16, 3, 32, 16
"""Convolutions that multiply bytes have many input channels, or these of both: with fewer inputs half of a pixel's four
bytes are nothing, with fewer outputs half of a tile's columns, which does not matter to tile registers."""


def note_data_grids(graph: Graph, context: BuildContext) -> None:
    """Where what a product or convolution reads was rounded by FakeQuantize, and has only been moved since then, or is
    bytes less a zero point; and where its weights are whole numbers of 8 bits with one scale per column or channel.

    Kernels may then multiply the whole numbers. Those of products that do not compute the same of the floats; weights
    of floats and convolutions are left alone where the device has no instructions for bytes.
    """
    has_bytes = context.engine.capabilities.multiplies_bytes
    for node in graph:
        if isinstance(node.primitive, MatMul):
            _note_product(graph, context, node, has_bytes)
        elif type(node.primitive) is Convolution and has_bytes:
            _note_convolution(graph, context, node)


def multiplies_bytes(graph: Graph, context: BuildContext, node: Node) -> bool:
    """Whether a convolution may become one of bytes, if its weights turn out to be whole numbers."""
    if type(node.primitive) is not Convolution or not context.engine.capabilities.multiplies_bytes:
        return False
    weights = graph.layout(node.inputs[1])
    return (weights.is_static and _is_shaped_for_bytes(context, weights.static_shape)
            and _grid_of(graph, context, node.inputs[0]) is not None)


def _is_shaped_for_bytes(context: BuildContext, filter_shape: StaticShape) -> bool:
    outputs, inputs, *filters = filter_shape
    least = LEAST_OUTPUTS_IN_REGISTERS if context.engine.capabilities.tile_registers else LEAST_OUTPUTS
    is_worth_it = inputs >= MANY_CHANNELS or (inputs >= LEAST_INPUTS and outputs >= least)
    return (len(filters) <= 2 and is_worth_it and outputs * math.prod(filters) > 0
            and inputs * math.prod(filters) <= MOST_DEPTH)


def _note_product(graph: Graph, context: BuildContext, node: Node, has_bytes: bool) -> None:
    product = node.primitive
    assert isinstance(product, MatMul)
    if product.data_grid is not None or not (product.quantisation or has_bytes):
        return
    grid = _grid_of(graph, context, node.inputs[0])
    if grid is None:
        return
    if product.quantisation is None:
        _find_whole_weights(graph, context, node)
    if _has_plain_weights(graph, node):
        _note(graph, context, node, grid)


def _find_whole_weights(graph: Graph, context: BuildContext, node: Node) -> None:
    """Let a product read the whole numbers behind constant weights of f32, if there are any."""
    product = node.primitive
    assert isinstance(product, MatMul)
    weights = graph.constants.get(product.inputs[1].primitive)
    if weights is None or not weights.layout.is_static or weights.layout.rank != 2 \
            or weights.layout.element_type.name != "f32" or not weights.layout.count > 0 \
            or weights.layout.static_shape[1 if product.transpose_b else 0] > MOST_DEPTH:
        return
    values = weights.on_host(context.stream)
    found = whole_numbers_of(values if product.transpose_b else values.T)
    if found is None:
        return
    numbers = found.numbers if product.transpose_b else np.ascontiguousarray(found.numbers.T)
    added = [constant_before(graph, node, "whole", numbers), constant_before(graph, node, "scale", found.scale[None])]
    _replace_inputs(graph, node, 1, added, replaced=1, quantisation=Quantisation(2))


def _note_convolution(graph: Graph, context: BuildContext, node: Node) -> None:
    """Put a quantised convolution in the place of one, if its data and weights allow it."""
    given = node.primitive
    assert isinstance(given, Convolution)
    weights = graph.constants.get(given.inputs[1].primitive)
    types = {graph.element_type(port).name for port in given.inputs}
    if weights is None or types != {"f32"} or given.has_factor or given.fused_ops or given.output_padding:
        return
    shape = weights.layout.static_shape
    if not _is_shaped_for_bytes(context, shape):
        return
    grid = _grid_of(graph, context, given.inputs[0])
    found = None if grid is None else whole_numbers_of(weights.on_host(context.stream).reshape(shape[0], -1))
    if grid is None or found is None:
        return
    numbers = found.numbers.reshape(shape)
    described = _described(graph, context, node, grid, found.numbers.sum(1, dtype=np.int64))
    added = [constant_before(graph, node, "whole", numbers), constant_before(graph, node, "scale", found.scale),
             *described[::-1]]
    attributes = {field.name: getattr(given, field.name) for field in fields(given)}
    graph.replace(node.id, QuantisedConvolution(**{**attributes, "inputs": (given.inputs[0], *added,
                                                                            *given.inputs[2:])}))
    graph.remove_unread(given.inputs[1].primitive)


def _grid_of(graph: Graph, context: BuildContext, port: Port) -> Grid | Bytes | None:
    """The grid of which all elements of a tensor are; bf16 would not tell its 256 levels apart for certain."""
    if graph.element_type(port).name not in ("f32", "f16"):
        return None
    found = floats_of_bytes(graph, context, port)
    if found is not None:
        return found
    grids = {_grid_of_rounded(graph, context, source) for source in sources_of(graph, port)}
    return grids.pop() if len(grids) == 1 else None


def _grid_of_rounded(graph: Graph, context: BuildContext, port: Port) -> Grid | None:
    node = graph[port.primitive]
    is_rounded = isinstance(node.primitive, FakeQuantize) and not node.primitive.fused_ops
    return grid_of_levels(graph, context, node) if is_rounded else None


def _has_plain_weights(graph: Graph, node: Node) -> bool:
    product = node.primitive
    assert isinstance(product, MatMul)
    found = product.quantisation
    if found is None:
        return False
    weights, scale = graph.layout(product.inputs[1]), graph.layout(product.inputs[found.scale])
    depth = weights.static_shape[1 if product.transpose_b else 0]
    return (weights.element_type.name == "i8" and found.zero_point is None and scale.static_shape[0] == 1
            and 0 < depth <= MOST_DEPTH)


def _note(graph: Graph, context: BuildContext, node: Node, grid: Grid | Bytes) -> None:
    product = node.primitive
    assert isinstance(product, MatMul) and product.quantisation is not None
    weights = graph.constants[product.inputs[1].primitive].on_host(context.stream)
    sums = weights.sum(axis=1 if product.transpose_b else 0, dtype=np.int64)
    place = 2 + len(product.quantisation.inputs)
    _replace_inputs(graph, node, place, _described(graph, context, node, grid, sums[None]), data_grid=place)


def _described(graph: Graph, context: BuildContext, node: Node, grid: Grid | Bytes, sums: np.ndarray) -> list[Port]:
    """What kernels read of a grid, and what sums of products start with, given those of the weights alone; both are
    computed whenever the model runs where the zero point is."""
    if isinstance(grid, Grid):
        return [constant_before(graph, node, "grid", grid.numbers()),
                constant_before(graph, node, "start", grid.start(sums))]
    zero = grid.zero_point
    assert zero is not None

    def computed(mode: str, name: str, values: np.ndarray, other: Port) -> Port:
        constant = constant_before(graph, node, f"{name}/of", values)
        primitive = Eltwise(graph.unique_id(f"{node.id}/{name}"), (constant, other), mode=mode,
                            origin=node.primitive.origin)
        return inserted(graph, context, node, primitive)

    number = inserted(graph, context, node, Convert(graph.unique_id(f"{node.id}/zero"), (zero,),
                                                    destination_type="f32", origin=node.primitive.origin))
    spread = computed("Multiply", "place", np.array([[0, 1, 0]], np.float32), number)
    return [computed("Add", "grid", np.array([[1, 0, 1]], np.float32), spread),
            computed("Multiply", "start", (-sums).astype(np.int32), zero)]


def _replace_inputs(graph: Graph, node: Node, place: int, added: list[Port], replaced: int = 0,
                    **attributes: object) -> None:
    """Put other inputs in the place of so many from `place` on, and set attributes."""
    primitive, more = node.primitive, len(added) - replaced
    old = primitive.inputs[place:place + replaced]
    inputs = (*primitive.inputs[:place], *added, *primitive.inputs[place + replaced:])
    fused_ops = tuple(replace(fused, operands=tuple(x + more if isinstance(x, int) else x for x in fused.operands))
                      for fused in primitive.fused_ops)
    changed: Any = replace(primitive, inputs=inputs, fused_ops=fused_ops, **attributes)  # type: ignore[arg-type]
    graph.replace(node.id, changed)
    for port in old:
        graph.remove_unread(port.primitive)
