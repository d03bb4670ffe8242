"""The kernel of Fourier transforms."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Kernel, KernelTable, Lowered, Problem, Stage, input_operand, output_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.dft.op import FourierTransform
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import open_view

_FLOPS = 40
"""Of one term of a sum: its sine and cosine, and a product of complex numbers."""


@dataclass(frozen=True)
class FourierProblem(Problem):
    """Lines along one axis; of complex tensors the parts are the last axis."""

    primitive: FourierTransform

    @property
    def real_rank(self) -> int:
        """The rank without the axis of real and imaginary parts."""
        return self.inputs[0].rank - (not self.primitive.reads_real)

    @property
    def items(self) -> Any:
        """How many numbers, real or complex, the output has."""
        return self.outputs[0].count // (1 if self.primitive.writes_real else 2)

    @cached_property
    def axis(self) -> int | None:
        """The transformed axis; None while it is unknown."""
        return self.primitive.axis_of(self.values, self.real_rank)

    @property
    def length(self) -> Any:
        """The length of the signal; open while it is unknown."""
        return ANY if self.axis is None else self.primitive.length(self.inputs[0].shape[self.axis], self.values)

    def axis_last(self, layout: Layout) -> TensorView:
        """The view with the transformed axis last, but for that of the parts."""
        rank, axis = self.real_rank, self.axis
        if axis is None:
            return open_view(layout.element_type, layout.rank)
        return TensorView.of(layout).permute((*(a for a in range(rank) if a != axis), axis,
                                              *range(rank, layout.rank)))


class Reference(Kernel[FourierProblem, None]):
    """One number of the output per work-item, straight from the definition."""

    name = "fourier_ref"
    efficiency = 0.1

    def cost(self, problem: FourierProblem, config: None) -> float:
        axis = problem.real_rank - 1 if problem.axis is None else problem.axis
        terms = problem.items * problem.inputs[0].shape[axis]
        return time_of(problem.capabilities.ceilings, flops=terms * _FLOPS, efficiency=self.efficiency,
                       nbytes=problem.moved_bytes)

    def lower(self, problem: FourierProblem, config: None) -> Lowered:
        primitive, last = problem.primitive, problem.real_rank - 1
        operands = (input_operand(problem, 0, problem.axis_last(problem.inputs[0])),
                    output_operand(problem, 0, problem.axis_last(problem.outputs[0])))
        constants = {"NUMBER": "double" if problem.capabilities.fp64 else "float",
                     "READS_REAL": primitive.reads_real, "WRITES_REAL": primitive.writes_real,
                     "INVERSE": primitive.inverse, "REAL_RANK": last + 1, "INPUT_AXIS_SIZE": f"INPUT0_SIZE_{last}",
                     "INPUT_AXIS_PITCH": f"INPUT0_PITCH_{last}"}
        return Lowered((Stage("fourier_ref.cl", operands, local_items(problem.items), constants,
                              {"length": problem.length, "items": problem.items}),))


KERNELS = KernelTable((Reference(),), FourierProblem)
