"""The kernel of RoPE."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

from clinfer.base.shape import StaticShape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Constant, Kernel, KernelTable, Lowered, Operand, Stage, input_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.rope.op import RoPE
from clinfer.ops.shared.copying import LOCAL_SIZE, element_stage, local_items
from clinfer.ops.shared.parts import PartsProblem, in_result_order, places_in_turn, seen_input
from clinfer.ops.shared.view_copy import ViewCopy
from clinfer.ops.shared.views import static

_CPU_SPAN, _GPU_SPANS = 64, (1, 4)
_WIDE = {1: 0, 4: 4, 64: 16}
"""How many pairs are turned at a time of so many."""
_PLACE_NS, _WAIT_NS = 1.6, 60.0
"""What it takes a compute unit of a GPU to find the place of a work-item's pairs, and a work-item to wait for one
(measured on an H200)."""


@dataclass(frozen=True)
class RoPEProblem(PartsProblem):
    """Data, and factors that stretch to it; perhaps what comes before the result."""

    primitive: RoPE

    @property
    def operands(self) -> tuple[Operand, ...]:
        *rows, size = self.result.sizes
        target = (*rows, self.primitive.width(size))
        factors = (input_operand(self, i, TensorView.of(self.inputs[i]).broadcast(target)) for i in (1, 2))
        return (input_operand(self, 0, seen_input(self, 0)), *factors,
                Operand("OUTPUT0", BufferRef("output", 0), self.result))

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        return {"INTERLEAVED": primitive.interleaved, "PAIRED": primitive.paired,
                "ROTATED": primitive.rotated or "OUTPUT0_SIZE_LAST"}

    @property
    def is_wide(self) -> bool:
        """Whether several pairs can be turned at a time."""
        return not self.primitive.interleaved and all(
            layout.element_type.cl_compute == "float" for layout in (*self.inputs, *self.outputs))

    @cached_property
    def result(self) -> TensorView:
        """The result's place in the output, with its own axes."""
        return in_result_order(self, self._places[-1])

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of the data, the factors and the result; what comes before it stays where it is."""
        return sum(x.byte_size for x in self.inputs[:3]) + self.inputs[0].element_type.byte_size(
            prod(static(self.result.sizes)))

    @property
    def spanned(self) -> StaticShape:
        """What is shared out: the pairs of the last axis, and what is handed on."""
        *rows, size = static(self.result.sizes)
        return (*rows, size - (self.primitive.rotated or size) // 2)

    @property
    def before(self) -> ViewCopy | None:
        """What puts the fourth input before the result."""
        if self.primitive.behind is None:
            return None
        return ViewCopy(BufferRef("input", 3), BufferRef("output", 0), TensorView.of(self.inputs[3]), self._places[0])

    @cached_property
    def _places(self) -> tuple[TensorView, ...]:
        """The parts of the output."""
        axis, layout = self.primitive.behind, self.outputs[0]
        return (TensorView.of(layout),) if axis is None else places_in_turn(layout, self.inputs[3], axis)


class RoPEKernel(Kernel[RoPEProblem, int]):
    """As many neighbouring pairs a work-item as the configuration says. What comes before the result is copied, element
    by element; a cache that grows in place need not be."""

    name = "rope_ref"
    supports_large = True
    efficiency = 0.5

    def configs(self, problem: RoPEProblem) -> tuple[int, ...]:
        if problem.runs_on_cpu:
            return (_CPU_SPAN,)
        return _GPU_SPANS if problem.is_wide else _GPU_SPANS[:1]

    def cost(self, problem: RoPEProblem, span: int) -> float:
        moving = time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency)
        if problem.runs_on_cpu:
            return moving
        return moving + span * _WAIT_NS + prod(problem.spanned) / span * _PLACE_NS / problem.capabilities.compute_units

    def lower(self, problem: RoPEProblem, span: int) -> Lowered:
        *rows, pairs = problem.spanned
        work = local_items(prod(rows) * ceil(pairs / span), self._local_size(problem))
        constants = {**problem.constants, "SPAN": span, "WIDE": _WIDE[span] if problem.is_wide else 0,
                     "LOCAL": self._local_size(problem)}
        turned = Stage("rope_ref.cl", problem.operands, work, constants)
        if problem.before is None:
            return Lowered((turned,))
        return Lowered((element_stage(problem, problem.before), turned))

    @staticmethod
    def _local_size(problem: RoPEProblem) -> int:
        return 1 if problem.runs_on_cpu else LOCAL_SIZE


KERNELS = KernelTable((RoPEKernel(),), RoPEProblem)
