"""Matrix products as kernels see them: left [..., M, K], right [..., K, N] and output [..., M, N]."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from clinfer.base.layout import Layout
from clinfer.base.memo import memo
from clinfer.base.shape import Shape
from clinfer.base.tensor_view import TensorView
from clinfer.ops.matmul.op import MatMul

LEAST_RANK = 4
"""Products of fewer axes are seen with leading axes of size 1, so that they share one build."""


@dataclass(frozen=True)
class Product:
    """Views of one rank. Those of `left` and `output` have the same batch axes; `right` has its own,
    each equal to the output's or 1."""

    left: TensorView
    right: TensorView
    output: TensorView

    @property
    def batch(self) -> Shape:
        return self.output.sizes[:-2]

    def right_in_batch(self) -> TensorView:
        """The right side stretched to the batch of the output."""
        return _in_batch(self.right, self.batch)

    def packed(self, columns: int) -> TensorView:
        """The right side in panels of `columns` columns: [..., panels, K * columns]."""
        *batch, depth, width = self.right.sizes
        return TensorView.dense(self.right.element_type, (*batch, ceil(width / columns), depth * columns))

    def packed_in_batch(self, columns: int) -> TensorView:
        """The same panels stretched to the batch of the output."""
        return _in_batch(self.packed(columns), self.batch)


def product_of(left: Layout, right: Layout, output: Layout, primitive: MatMul, collapse: bool = False) -> Product:
    """The views of a product; with `collapse`, all rows that meet the same right side are one matrix."""
    return _product(left, right, output, primitive.transpose_a, primitive.transpose_b, collapse)


def fused_view_of(layout: Layout, left: Layout, right: Layout, output: Layout, primitive: MatMul, seen: TensorView,
                 collapse: bool) -> TensorView:
    """What a fused operation reads, stretched to the output as it is seen."""
    view = TensorView.of(layout)
    if right.rank == 1:
        view = view.insert_axes((view.rank,), pitch=1)
    if left.rank == 1:
        view = view.insert_axes((view.rank - 1,), pitch=1)
    if collapse and _can_collapse(left, right, output, primitive.transpose_a):
        view = TensorView.dense(layout.element_type, (prod(view.sizes[:-1]), view.sizes[-1]))
    return view.insert_axes(tuple(range(seen.rank - view.rank)), pitch=1).broadcast(seen.sizes)


def fused_inputs_collapse(fused_ops: tuple[Layout, ...], right: Layout, output: Layout) -> bool:
    """Whether every fused input is stretched along all axes of the rows or along none."""
    last = output.rank - (right.rank > 1)
    rows = output.shape[:last]
    return all(x.shape[:last] == rows or all(size == 1 for size in x.shape[:last]) or all(
        (size == 1) == (whole == 1) for size, whole in zip(x.shape[:last], rows, strict=True)) for x in fused_ops)


@memo(maxsize=512)
def _product(left_layout: Layout, right_layout: Layout, output_layout: Layout, transpose_left: bool,
             transpose_right: bool, collapse: bool) -> Product:
    # The same whether or not rows are collapsed, which may differ between the build and a shape.
    rank = max(left_layout.rank, right_layout.rank, output_layout.rank, LEAST_RANK)
    left, right, output = (TensorView.of(x) for x in (left_layout, right_layout, output_layout))
    if right.rank == 1:
        right, output = right.insert_axes((1,), pitch=1), output.insert_axes((output.rank,), pitch=1)
    elif transpose_right:
        right = _transpose(right)
    if left.rank == 1:
        left, output = left.insert_axes((0,), pitch=1), output.insert_axes((output.rank - 1,), pitch=1)
    elif transpose_left:
        left = _transpose(left)
    if collapse and _can_collapse(left_layout, right_layout, output_layout, transpose_left):
        rows = prod(output.sizes[:-1])
        left = TensorView.dense(left.element_type, (rows, left.sizes[-1]))
        output = TensorView.dense(output.element_type, (rows, output.sizes[-1]))
        right = TensorView(right.element_type, right.sizes[-2:], right.pitches[-2:], right.offset, right.blocks[-2:])
    left, right, output = (v.insert_axes(tuple(range(rank - v.rank)), pitch=1) for v in (left, right, output))
    return Product(_in_batch(left, output.sizes[:-2]), right, output)


def _in_batch(view: TensorView, batch: Shape) -> TensorView:
    """A matrix, or several, stretched to a batch; its own axes, whose pitches stay, are not."""
    stretched = view.broadcast((*batch, *view.sizes[-2:]))
    return replace(stretched, pitches=(*stretched.pitches[:-2], *view.pitches[-2:]))


def _transpose(view: TensorView) -> TensorView:
    return view.permute((*range(view.rank - 2), view.rank - 1, view.rank - 2))


def _can_collapse(left: Layout, right: Layout, output: Layout, transpose_left: bool) -> bool:
    batch = right.shape[:-2]
    return (left.rank > 2 and not transpose_left and left.is_dense_planar and output.is_dense_planar
            and all(size == 1 for size in batch))
