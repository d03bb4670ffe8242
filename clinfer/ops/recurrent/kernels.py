"""The kernel of recurrent networks."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Constant,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    input_operand,
    output_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.recurrent.conversion import KNOWN
from clinfer.ops.recurrent.op import GATES, Recurrence
from clinfer.ops.shared.views import static

_F32 = ElementType.of("f32")
_STATES = 4
_STEP_ON_GPU = 10.0
"""Nanoseconds of a product within a step, which waits for what it loads."""


@dataclass(frozen=True)
class RecurrenceProblem(Problem):
    """Sequences [batch, directions] of steps, or a single step."""

    primitive: Recurrence

    @property
    def sequences(self) -> tuple[int, int]:
        """The batch and the directions, which may be open."""
        batch, second, *_ = static(self.inputs[0].shape)
        return batch, 1 if self.primitive.is_step else second

    @property
    def steps(self) -> int:
        """Steps of a sequence; may be open."""
        return 1 if self.primitive.is_step else static(self.inputs[0].shape)[2]

    @property
    def lanes(self) -> int:
        """Work-items of a sequence: enough for the hidden units, a power of two."""
        most = min(16 if self.runs_on_cpu else 256, self.capabilities.max_work_group_size)
        return 1 << (min(most, self.primitive.hidden_size).bit_length() - 1)

    @property
    def constants(self) -> dict[str, Constant]:
        """The cell."""
        cell = self.primitive
        return {"CELL": list(GATES).index(cell.cell), "IS_STEP": cell.is_step, "HIDDEN": cell.hidden_size,
                "LINEAR_BEFORE_RESET": cell.linear_before_reset, "REVERSED": cell.direction.lower() == "reverse",
                "CLIP": float(cell.clip), "LANES": self.lanes,
                **{f"ACTIVATION_{n}": KNOWN.index(name) for n, name in enumerate(cell.activations)}}

    @property
    def operands(self) -> tuple[Operand, ...]:
        """INPUT0 to INPUT3 as the primitive has them, INPUT4 the cell state, INPUT5 the lengths; OUTPUT0 all states,
        OUTPUT1 the last one, OUTPUT2 the last cell state. Axes that are missing are put in, up to four."""
        is_lstm, step = self.primitive.cell == "lstm", self.primitive.is_step
        projected, weights, bias, state = (((1, 2), (0, 1), (0, 1, 2), (1, 2)) if step else
                                           ((), (0,), (0, 1), (2,)))
        missing = (projected, weights, bias, *(state,) * (1 + is_lstm))
        operands = [input_operand(self, i, TensorView.of(self.inputs[i]).insert_axes(axes))
                    for i, axes in enumerate(missing)]
        if not step:
            lengths = len(missing)
            view = TensorView.of(self.inputs[lengths]).insert_axes((1, 2, 3))
            operands.append(Operand("INPUT5", input_operand(self, lengths).buffer, view))
        for i, layout in enumerate(self.outputs):
            view = TensorView.of(layout).insert_axes(state if layout.rank < 4 else ())
            operands.append(Operand(f"OUTPUT{i + step}", output_operand(self, i).buffer, view))
        return tuple(operands)


class Reference(Kernel[RecurrenceProblem, None]):
    """One work-group per sequence."""

    name = "recurrent_ref"

    def cost(self, problem: RecurrenceProblem, config: None) -> float:
        cell = problem.primitive
        products = problem.steps * GATES[cell.cell] * cell.hidden_size**2
        waiting = 0.0 if problem.runs_on_cpu else _STEP_ON_GPU * products / problem.lanes
        return waiting + time_of(problem.capabilities.ceilings, flops=2 * products * prod(problem.sequences),
                                 efficiency=self.efficiency, nbytes=problem.moved_bytes)

    def lower(self, problem: RecurrenceProblem, config: None) -> Lowered:
        batch, directions = problem.sequences
        states = TensorView.dense(_F32, (batch, directions, _STATES, problem.primitive.hidden_size))
        work = Work((batch * directions * problem.lanes,), (problem.lanes,))
        return Lowered((Stage("recurrent_ref.cl", (*problem.operands, scratch_operand(0, states)), work,
                              problem.constants),), (_F32.byte_size(prod(static(states.sizes))),))


KERNELS = KernelTable((Reference(),), RecurrenceProblem)
