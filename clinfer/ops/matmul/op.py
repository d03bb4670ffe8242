"""The matrix product (OpenVINO MatMul-1)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.grid import TRIAL_GRID
from clinfer.base.layout import Layout
from clinfer.base.quantisation import Quantisation
from clinfer.base.row_norm import RowNorm
from clinfer.base.schema import Natural
from clinfer.base.shape import Shape, Size, is_one, show
from clinfer.symbolic.dimensions import stretched
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

QUANTISED_TYPES = tuple(map(ElementType.of, ("u8", "i8", "u4", "i4", "f8e4m3", "f8e5m2")))


@dataclass(frozen=True)
class MatMul(Primitive):
    """The product of the last two axes; those before them broadcast by NumPy's rule.

    An input of one axis is a row on the left or a column on the right, is not transposed, and its
    missing axis is missing in the result. The last input, where there is one more, is a bias per column [N]; it needs
    `has_columns`: that the right side has more than one axis. With a `quantisation` the right side, of two axes, is
    stored as numbers of 8 or 4 bits (`QUANTISED_TYPES`), and scales and zero points follow it.

    With a `data_grid` all elements of the left side are known to be (whole number of 0 to 255 - zero point) * step, and
    the right side is stored as i8, with scales per column alone. That input, [1, 3], holds 1 / step, zero point and
    step; the next one, i32 [1, N], -zero point times the sum of each column's stored numbers.

    With a `left_norm` the left side is what that says; data and weight stand behind all other inputs.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    has_columns: bool = True
    quantisation: Quantisation | None = None
    data_grid: Natural | None = None
    left_norm: RowNorm | None = None
    op_type: ClassVar[str] = "MatMul"

    @property
    def weights_input(self) -> int:
        return 1

    @property
    def bias_input(self) -> int | None:
        """The input that holds the bias, if there is one."""
        place = 2 + (len(self.quantisation.inputs) if self.quantisation else 0) + (0 if self.data_grid is None else 2)
        return place if self.own_input_count - len(self.norm_inputs) > place else None

    @property
    def norm_inputs(self) -> tuple[int, ...]:
        """Data and weight of the `left_norm`, if there is one."""
        own = self.own_input_count
        return () if self.left_norm is None else (own - 2, own - 1)

    def with_left_norm(self, norm: RowNorm, data: Port, weight: Port) -> MatMul:
        """The product of a left side that is known to be made of these."""
        return replace(self.with_more_inputs(data, weight), left_norm=norm)

    @property
    def is_heavy(self) -> bool:
        return True

    def trial_inputs(self, inputs: Sequence[Layout], any_numbers: Callable[[int], np.ndarray],
                     ) -> Mapping[int, np.ndarray]:
        if self.left_norm is not None:
            data, weight = (any_numbers(index).astype(np.float64) for index in self.norm_inputs)
            scale = np.sqrt(np.square(data).mean(-1, keepdims=True) + self.left_norm.eps)
            return {0: (data * weight.reshape(-1) / scale).astype(any_numbers(0).dtype)}
        if self.data_grid is None:
            return {}
        sums = any_numbers(1).sum(-1 if self.transpose_b else -2, dtype=np.int64)
        grid, place = inputs[0].element_type.grid or TRIAL_GRID, self.data_grid
        return {0: grid.nearest(any_numbers(0)), place: grid.numbers(), place + 1: grid.start(sums[None])}

    @property
    def aligned_axis(self) -> int | None:
        return None if self.transpose_a or not self.has_columns else -2

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def bias_axis(self) -> int | None:
        return -1 if self.bias_input is None and self.has_columns else None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        left, right = shapes[:2]
        if left is None or right is None:
            return (None,)
        if not left or not right:
            raise ClinferError("a matrix product needs at least one axis on either side", where=self.where,
                               values={"left": show(left), "right": show(right)})
        *batch_a, m, k = self._matrix(left, self.transpose_a, is_left=True)
        *batch_b, other_k, n = self._matrix(right, self.transpose_b, is_left=False)
        if isinstance(k, int) and isinstance(other_k, int) and k != other_k:
            raise ClinferError("the inner sizes of a matrix product differ", where=self.where,
                               values={"left": show(left), "right": show(right), "transpose_a": self.transpose_a,
                                       "transpose_b": self.transpose_b})
        batch = self._broadcast(tuple(batch_a), tuple(batch_b))
        return (batch + ((m,) if len(left) > 1 else ()) + ((n,) if len(right) > 1 else ()),)

    @staticmethod
    def _matrix(shape: Shape, transpose: bool, is_left: bool) -> Shape:
        if len(shape) == 1:
            return (1, shape[0]) if is_left else (shape[0], 1)
        return (*shape[:-2], shape[-1], shape[-2]) if transpose else shape

    def _broadcast(self, a: Shape, b: Shape) -> Shape:
        rank = max(len(a), len(b))
        lifted = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
        return tuple(self._broadcast_size(x, y) for x, y in lifted)

    def _broadcast_size(self, a: Size, b: Size) -> Size:
        if is_one(b):
            return a
        if is_one(a) or a == b or a == 1:
            return b
        if b == 1:
            return a
        low_a, high_a = _bounds(a)
        low_b, high_b = _bounds(b)
        if low_a > 1 and low_b > 1:
            low, high = max(low_a, low_b), min(high_a, high_b)
        elif low_a > 1 or low_b > 1:
            low, high = (low_a, high_a) if low_a > 1 else (low_b, high_b)
        else:
            low, high = min(low_a, low_b), max(high_a, high_b)
        if low > high or (low_a > 1 and not high_b) or (low_b > 1 and not high_a):
            raise ClinferError("the batches of a matrix product do not broadcast", where=self.where,
                               values={"left": a, "right": b})
        return low if low == high else stretched((a, b), low, high)


def _bounds(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size.low, size.high)


def convert_matmul(node: SourceNode) -> MatMul:
    """The primitive of a MatMul."""
    right = node.input_shapes[1]
    return MatMul(node.id, node.inputs, origin=node.name, transpose_a=bool(node.attributes["transpose_a"]),
                  transpose_b=bool(node.attributes["transpose_b"]), has_columns=right is not None and len(right) > 1)
