"""Notes of matrix products with weights of 8 bits that their data are whole numbers of 8 bits times a step."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.ops.fake_quantize import FakeQuantize
from clinfer.ops.matmul import MatMul
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Constant, Port

MOST_LEVELS = 256
MOST_DEPTH = 1 << 16
"""Products of bytes of which every sum fits 32 bits."""
_OFF_GRID = 1e-3
"""By what part of a step 0 may be off the grid."""
_LEAST_STEP = 1e-30
"""Of steps that are as well multiplied with as divided by in f32."""


@dataclass(frozen=True)
class Grid:
    """Elements are (whole number of 0 to 255 - zero point) * step."""

    step: float
    zero_point: int

    @staticmethod
    def of(low: float, high: float, levels: int) -> Grid | None:
        """The grid of so many levels from `low` to `high`; None where 0 is none of them, or there is no step."""
        step = (high - low) / max(levels - 1, 1)
        if not (1 < levels <= MOST_LEVELS and _LEAST_STEP <= step <= 1 / _LEAST_STEP):
            return None
        zero_point = round(-low / step)
        if not 0 <= zero_point < levels or abs(-low / step - zero_point) > _OFF_GRID:
            return None
        return Grid(step, zero_point)


def note_data_grids(graph: Graph, context: BuildContext) -> None:
    """Where what a product reads was rounded by FakeQuantize, and has only been moved since then, and where its weights
    are i8 with one scale per column.

    Kernels may then multiply the whole numbers; those that do not compute the same of the floats.
    """
    for node in graph:
        product = node.primitive
        if not isinstance(product, MatMul) or product.quantisation is None or product.data_grid is not None:
            continue
        grid = _grid_of(graph, context, node.inputs[0])
        if grid is not None and _has_plain_weights(graph, product):
            _note(graph, context, node, grid)


def _grid_of(graph: Graph, context: BuildContext, port: Port) -> Grid | None:
    """The grid of which all elements of a tensor are."""
    node = graph[port.primitive]
    while node.primitive.only_moves and not node.primitive.fused_ops:
        node = graph[node.inputs[0].primitive]
    primitive = node.primitive
    if not isinstance(primitive, FakeQuantize) or primitive.fused_ops:
        return None
    low, high = (context.number(graph, bound) for bound in node.inputs[3:5])
    return None if low is None or high is None else Grid.of(low, high, primitive.levels)


def _has_plain_weights(graph: Graph, product: MatMul) -> bool:
    found = product.quantisation
    assert found is not None
    weights, scale = graph.layout(product.inputs[1]), graph.layout(product.inputs[found.scale])
    depth = weights.static_shape[1 if product.transpose_b else 0]
    return (weights.element_type.name == "i8" and found.zero_point is None and scale.static_shape[0] == 1
            and 0 < depth <= MOST_DEPTH)


def _note(graph: Graph, context: BuildContext, node: Node, grid: Grid) -> None:
    product = node.primitive
    assert isinstance(product, MatMul) and product.quantisation is not None
    weights = graph.constants[product.inputs[1].primitive].on_host(context.stream)
    sums = weights.sum(axis=1 if product.transpose_b else 0, dtype=np.int64)
    numbers = np.array([[1 / grid.step, grid.zero_point, grid.step]], np.float32)
    added = [_constant(graph, node, "grid", numbers),
             _constant(graph, node, "start", (-grid.zero_point * sums).astype(np.int32)[None])]
    place = 2 + len(product.quantisation.inputs)
    inputs = (*product.inputs[:place], *added, *product.inputs[place:])
    fused_ops = tuple(replace(fused, operands=tuple(x + 2 if isinstance(x, int) else x for x in fused.operands))
                      for fused in product.fused_ops)
    graph.replace(node.id, replace(product, inputs=inputs, fused_ops=fused_ops, data_grid=place))


def _constant(graph: Graph, reader: Node, name: str, values: np.ndarray) -> Port:
    kind = ElementType.of_numpy(values.dtype)
    node = graph.insert_before(reader.id, Constant(graph.unique_id(f"{reader.id}/{name}"), value=np.empty(0),
                                                   origin=reader.primitive.origin, element_type=kind))
    node.layouts = (Layout.planar(values.shape, kind),)
    graph.constants[node.id] = ConstantData(node.layouts[0], array=values)
    return Port(node.id)
