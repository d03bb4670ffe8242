"""The kernel of CumSum."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Formats, Operand, Problem, Work, input_operand, output_operand
from clinfer.ops.cum_sum.op import CumSum
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.data_formats import data_formats
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import axis_last, open_view, static


@dataclass(frozen=True)
class CumSumProblem(OnlyKernelProblem):
    """Rows along one axis, each for one work-item."""

    primitive: CumSum

    @cached_property
    def axis(self) -> int | None:
        """The axis, counted from the front; None while it is unknown."""
        return self.primitive.axis_of(self.values, self.inputs[0].rank)

    @cached_property
    def rows(self) -> int:
        """How many there are; open while sizes or the axis are."""
        if self.axis is None:
            return ANY  # type: ignore[return-value]
        return prod(size for a, size in enumerate(static(self.inputs[0].shape)) if a != self.axis)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (input_operand(self, 0, self._axis_last(self.inputs[0])),
                output_operand(self, 0, self._axis_last(self.outputs[0])))

    def _axis_last(self, layout: Layout) -> TensorView:
        if self.axis is None:
            return open_view(layout.element_type, layout.rank)
        return axis_last(TensorView.of(layout), self.axis)

    @property
    def constants(self) -> dict[str, Constant]:
        return {"EXCLUSIVE": self.primitive.exclusive, "REVERSE": self.primitive.reverse}

    @property
    def arguments(self) -> dict[str, int]:
        return {"rows": self.rows}

    @property
    def work(self) -> Work:
        return local_items(self.rows)


def _formats(problem: Problem) -> Formats:
    """The data as it comes unless it is blocked, the output alike."""
    data = problem.inputs[0]
    kept = Format.planar(data.rank) if data.format.blocks else data.format
    return data_formats(problem, kept, kept)


KERNELS = only_kernel("cum_sum_ref", CumSumProblem, _formats)
