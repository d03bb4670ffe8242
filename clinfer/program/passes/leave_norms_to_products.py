"""Lets products of few rows normalise these on their way."""
from __future__ import annotations

from dataclasses import replace
from typing import cast

from clinfer.base.layout import Layout
from clinfer.base.row_norm import RowNorm
from clinfer.base.shape import count_bounds
from clinfer.kernels.selector import ANYTHING, is_able
from clinfer.kernels.tuned import wrong_results
from clinfer.ops import kernels_of
from clinfer.ops.eltwise import is_multiply
from clinfer.ops.matmul import MatMul
from clinfer.ops.mvn import MVN
from clinfer.ops.shared.reduction import normalized_axes
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.topology import Port

FEW_ROWS = 8
"""A product of so many rows takes as long as the memory takes to give its weights, and has time left for them."""


def leave_norms_to_products(graph: Graph, context: BuildContext) -> None:
    """Where rows are divided by the root of their mean square, multiplied with a weight for each column, and read by
    products alone, all of which have a kernel that does so itself (`Kernel.has_prologue`)."""
    for node in graph:
        weight = _weight(graph, node, context)
        if weight is None or count_bounds(node.layouts[0].shape[:-1])[0] > FEW_ROWS:
            continue
        products = _products(graph, node, weight, context)
        for product in products:
            graph.replace(product.id, product)
        if products:
            graph.replace(node.id, replace(cast(MVN, node.primitive), left_to_readers=FEW_ROWS))


def _weight(graph: Graph, node: Node, context: BuildContext) -> Port | None:
    """The weight for each column with which a norm of rows multiplies them; None: it is another norm, or does more."""
    primitive = node.primitive
    if not isinstance(primitive, MVN) or primitive.centre or not primitive.normalize_variance or node.on_host:
        return None
    if not primitive.eps_inside_sqrt or primitive.output_padding or len(primitive.fused_ops) != 1:
        return None
    fused, = primitive.fused_ops
    rank = node.layouts[0].rank
    if not is_multiply(fused.primitive) or normalized_axes(context.known_values(graph, node), 1, rank) != (rank - 1,):
        return None
    if len(fused.inputs_read) != 1 or None not in fused.operands:
        return None
    weight = node.inputs[fused.inputs_read[0]]
    kinds = {graph.element_type(port) for port in (node.inputs[0], weight, Port(node.id))}
    return weight if len(kinds) == 1 and _is_row(graph.layout(weight), node.layouts[0]) else None


def _is_row(layout: Layout, rows: Layout) -> bool:
    """Whether it is one number for each column of those rows."""
    *others, columns = layout.shape or (1,)
    return columns == rows.shape[-1] and isinstance(columns, int) and all(size == 1 for size in others)


def _products(graph: Graph, node: Node, weight: Port, context: BuildContext) -> list[MatMul]:
    """The products that read rows as their left sides, as they normalise these themselves; none where somebody else
    reads the rows, or one cannot."""
    if graph.is_output(node.id) or context.options.forced(node.id) != ANYTHING:
        return []
    found = []
    for reader, index in graph.readers(Port(node.id)):
        product = reader.primitive
        if index or not isinstance(product, MatMul) or product.data_grid is not None or reader.on_host:
            return []
        found.append(_normalising(product, cast(MVN, node.primitive), weight))
    return found if all(_has_prologue(graph, product, context) for product in found) else []


def _normalising(product: MatMul, norm: MVN, weight: Port) -> MatMul:
    return product.with_left_norm(RowNorm(norm.eps, FEW_ROWS), norm.inputs[0], weight)


def _has_prologue(graph: Graph, product: MatMul, context: BuildContext) -> bool:
    """Whether a kernel that takes all shapes of a product may make its left side."""
    if context.options.forced(product.id) != ANYTHING:
        return False
    table, refused = kernels_of(product), context.refused_kernels(product.id)
    problem = table.problem.of(product, tuple(map(graph.layout, product.inputs)), graph[product.id].layouts,
                               context.engine.capabilities, {}, context.options.large_indices)
    for candidate in table.candidates(problem):
        if candidate.kernel.has_prologue(candidate.config) and candidate.name not in refused:
            wanted = candidate.in_own_formats(problem)
            if is_able(candidate, wanted) and candidate.accepts(wanted) is None and (
                    wrong_results(candidate, wanted, table.kernels[-1]) is None):
                return True
    return False

