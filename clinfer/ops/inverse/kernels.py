"""The kernel of Inverse."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    present_formats,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.inverse.op import Inverse
from clinfer.ops.shared.views import static

_LANES = 64


@dataclass(frozen=True)
class InverseProblem(Problem):
    """Square matrices."""

    primitive: Inverse

    @property
    def order(self) -> Any:
        """The rows of a matrix; may be open."""
        return static(self.inputs[0].shape)[-1]

    @property
    def matrices(self) -> Any:
        """How many there are; may be open."""
        count: Any = 1
        for size in self.inputs[0].shape[:-2]:
            count = count * size
        return count

    @property
    def number(self) -> ElementType:
        """The type that is computed in."""
        return ElementType.of("f64" if self.inputs[0].element_type.name == "f64" else "f32")


class Reference(Kernel[InverseProblem, None]):
    """One matrix per work-group, by Gauss's elimination."""

    name = "inverse_ref"

    def formats(self, problem: InverseProblem) -> Formats:
        return present_formats(problem)

    def cost(self, problem: InverseProblem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, flops=4 * problem.matrices * problem.order**3,
                       efficiency=self.efficiency, nbytes=problem.moved_bytes)

    def lower(self, problem: InverseProblem, config: None) -> Lowered:
        lanes = 1 if problem.runs_on_cpu else _LANES
        count = problem.matrices * problem.order * problem.order * 2
        work = TensorView.dense(problem.number, (count if problem.is_static else ANY,))
        operands = (input_operand(problem, 0), output_operand(problem), scratch_operand(0, work))
        constants = {"ADJOINT": problem.primitive.adjoint, "LANES": lanes}
        return Lowered((Stage("inverse_ref.cl", operands, Work((problem.matrices * lanes,), (lanes,)), constants),),
                       (problem.number.byte_size(count),))


KERNELS = KernelTable((Reference(),), InverseProblem)
