"""Kernels of Transpose: copies of a permuted view."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, KernelTable, planar_formats
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyTiles, CopyTurned
from clinfer.ops.shared.data_formats import data_formats
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy
from clinfer.ops.transpose.op import Transpose, order_of


@dataclass(frozen=True)
class TransposeProblem(CopyProblem):
    """Axes in another order."""

    primitive: Transpose

    @property
    def formats(self) -> Formats:
        """The input as it comes, if the order is known; the output planar."""
        data = self.inputs[0]
        return planar_formats(self) if self._order is None else data_formats(self, data.format)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data, order = TensorView.of(self.inputs[0]), self._order
        return (self.copy_to_output(None if order is None else data.permute(order)),)

    @property
    def _order(self) -> tuple[int, ...] | None:
        return order_of(self.values, self.inputs[0].rank)


KERNELS = KernelTable(tuple(kernel("transpose", has_epilogue=True)
                            for kernel in (CopyRows, CopyTiles, CopyTurned, CopyReference)),
                      TransposeProblem)
