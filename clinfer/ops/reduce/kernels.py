"""Kernels of reductions."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, KernelTable
from clinfer.ops.reduce.op import REDUCTIONS, Reduce
from clinfer.ops.reduce.shared_columns import ColumnsAlone, SharedColumns
from clinfer.ops.shared.axis_kernels import AxisProblem, Reference, Rows, VectorColumns
from clinfer.ops.shared.views import index_view, open_view

_RUN = 1024
"""Elements that are combined by themselves before they join those before them."""


@dataclass(frozen=True)
class ReduceProblem(AxisProblem):
    """The elements along the axes in input 1 combined."""

    primitive: Reduce
    floats_only = False
    counts_elements = True

    def beside_input(self, layout: Layout) -> TensorView:
        """A tensor of the output's axes with every axis of the input; open while it is unknown where they belong."""
        axes, rank = self.axes, self.inputs[0].rank
        if self.primitive.keep_dims:
            return TensorView.of(layout)
        if axes is None:
            return open_view(layout.element_type, rank)
        return index_view(TensorView.of(layout), tuple(None if a in axes else slice(None) for a in range(rank)))

    @property
    def constants(self) -> Mapping[str, Constant]:
        """The texts of the reduction for the arithmetic type of the input."""
        reduction, kind = REDUCTIONS[self.primitive.mode], self.inputs[0].element_type
        count = "ARG_N" if kind.is_float else "max(ARG_N, 1)"
        return {"COMBINE(a, b)": f"({reduction.combine})",
                "MAGNITUDE(x)": "fabs(x)" if kind.is_float else "((x) < 0 ? -(x) : (x))",
                "ROOT(x)": "sqrt(x)" if kind.is_float else f"({kind.cl_compute})sqrt((float)(x))",
                "VALUE(x)": f"({reduction.value})", "FINISH(x)": f"({reduction.finish})",
                "INITIAL": reduction.initial_for(kind), "RUN": _RUN, "N": f"(({kind.cl_compute}){count})"}


KERNELS = KernelTable((Rows("reduce"), VectorColumns("reduce"), ColumnsAlone("reduce"), SharedColumns("reduce"),
                       Reference("reduce")), ReduceProblem)
