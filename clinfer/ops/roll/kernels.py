"""The kernel of Roll."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Operand, Work, input_operand, output_operand
from clinfer.ops.roll.op import Roll
from clinfer.ops.shared.copying import local_items, piece_of
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.view_copy import raw_view
from clinfer.ops.shared.views import static

_CPU_SPAN = 256


@dataclass(frozen=True)
class RollProblem(OnlyKernelProblem):
    """Rows of elements that stay together, at other places."""

    primitive: Roll

    @cached_property
    def shifts(self) -> dict[int, int]:
        """By axis, see `Roll.shifts`; unknown as long as sizes are."""
        return self.primitive.shifts(self.inputs[0].shape, self.values if self.is_static else {})

    @property
    def operands(self) -> tuple[Operand, ...]:
        data, output = map(self._rows, (self.inputs[0], self.outputs[0]))
        return input_operand(self, 0, data), output_operand(self, 0, output)

    @property
    def constants(self) -> Mapping[str, Constant]:
        wrapped = " ".join(f"WRAP_AXIS(c, {axis});" for axis in sorted(self.shifts))
        last = self._rows(self.outputs[0]).rank - 1
        return {"WRAP(c)": wrapped, "ROW": f"OUTPUT0_SIZE_{last}", "VEC": self._vector, "SPAN": self._span}

    @property
    def arguments(self) -> Mapping[str, int]:
        return {f"shift_{axis}": shift for axis, shift in self.shifts.items()}

    @property
    def work(self) -> Work:
        *outer, row = static(self._rows(self.outputs[0]).sizes)
        return local_items(prod(outer) * -(-row // self._span))

    def _rows(self, layout: Layout) -> TensorView:
        """A tensor under the axes up to the last one that is rolled, and one of all elements behind them."""
        view, behind = raw_view(TensorView.of(layout)), max(self.shifts, default=-1) + 1
        if behind == layout.rank:
            return view.insert_axes((behind,), pitch=1)
        if any(x.padding for x in (self.inputs[0], self.outputs[0])):
            return view
        return TensorView.dense(view.element_type, (*layout.shape[:behind], prod(layout.shape[behind:])))

    @property
    def _vector(self) -> int:
        return 16 if self.runs_on_cpu else piece_of(self.outputs[0].element_type)

    @property
    def _span(self) -> int:
        """The elements of a row that a work-item copies."""
        return _CPU_SPAN if self.runs_on_cpu else self._vector


KERNELS = only_kernel("roll_rows", RollProblem)
