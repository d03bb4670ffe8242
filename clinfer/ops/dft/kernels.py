"""The kernels of Fourier transforms."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
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
from clinfer.ops.dft.op import FourierTransform
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.targets import cpu_only, has_wide_vectors
from clinfer.ops.shared.views import open_view
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import larger, smaller

_F32 = ElementType.of("f32")
_FLOPS = 40
"""Of one term of a sum: its sine and cosine, and a product of complex numbers."""
_FLOPS_OF_PASSES = 100
"""Of one number, in all passes."""
_SPEED_OF_LANES = {16: 0.3, 8: 0.3, 1: 0.05}
"""The share of the peak that passes over so many lines at once reach."""
_ITEMS_PER_UNIT = 4
"""Work-items that keep a core busy to the end."""
_SCRATCH = 1 << 23
"""Floats of all work-items together, unless there are no more of them than cores."""


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
    def lines(self) -> Any:
        """How many lines there are."""
        axis = self.real_rank - 1 if self.axis is None else self.axis
        return prod(size for a, size in enumerate(self.outputs[0].shape[:self.real_rank]) if a != axis)

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

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """Data and output with the axis last."""
        return (input_operand(self, 0, self.axis_last(self.inputs[0])),
                output_operand(self, 0, self.axis_last(self.outputs[0])))

    @property
    def constants(self) -> dict[str, Constant]:
        """Those of all kernels."""
        last = self.real_rank - 1
        return {"READS_REAL": self.primitive.reads_real, "WRITES_REAL": self.primitive.writes_real,
                "INVERSE": self.primitive.inverse, "REAL_RANK": last + 1, "INPUT_AXIS_SIZE": f"INPUT0_SIZE_{last}",
                "INPUT_AXIS_PITCH": f"INPUT0_PITCH_{last}"}


class Lines(Kernel[FourierProblem, int]):
    """Whole lines by passes, for CPUs; the configuration is how many a work-item transforms at once."""

    name = "fourier_lines"
    supports_large = True

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def configs(self, problem: FourierProblem) -> tuple[int, ...]:
        return (16 if has_wide_vectors(problem.capabilities) else 8, 1)

    def supports(self, problem: FourierProblem, lanes: int) -> str | None:
        is_double = "f64" in (problem.inputs[0].element_type.name, problem.outputs[0].element_type.name)
        return "computes in f32" if is_double else None

    def cost(self, problem: FourierProblem, lanes: int) -> float:
        last = problem.real_rank - 1
        size = problem.outputs[0].shape[last if problem.axis is None else problem.axis]
        flops = ceil(problem.lines / lanes) * lanes * size * _FLOPS_OF_PASSES
        return time_of(problem.capabilities.ceilings, flops=flops, efficiency=_SPEED_OF_LANES[lanes],
                       nbytes=problem.moved_bytes)

    def lower(self, problem: FourierProblem, lanes: int) -> Lowered:
        last = problem.real_rank - 1
        room = ceil(problem.length / 8) * 16 + 4 * problem.length * lanes
        items = _items(problem, ceil(problem.lines / lanes), room)
        data, output = problem.operands
        work = scratch_operand(0, TensorView.dense(_F32, (items * room,)))
        constants = {**problem.constants, "LANES": lanes, "OUTPUT_AXIS_SIZE": f"OUTPUT0_SIZE_{last}",
                     "OUTPUT_AXIS_PITCH": f"OUTPUT0_PITCH_{last}"}
        arguments = {"length": problem.length, "lines": problem.lines, "room": room}
        stage = Stage("fourier_lines.cl", (data, work, output), Work((items,), (1,)), constants, arguments)
        return Lowered((stage,), (_F32.byte_size(items * room),))


def _items(problem: FourierProblem, groups: Any, room: Any) -> Any:
    """Work-items that transform so many groups of lines with so much room each; open while shapes are."""
    if not problem.is_decided:
        return ANY
    units = problem.capabilities.compute_units
    return smaller(groups, larger(units, smaller(_ITEMS_PER_UNIT * units, _SCRATCH // larger(room, 1))))


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
        constants = {**problem.constants, "NUMBER": "double" if problem.capabilities.fp64 else "float"}
        return Lowered((Stage("fourier_ref.cl", problem.operands, local_items(problem.items), constants,
                              {"length": problem.length, "items": problem.items}),))


KERNELS = KernelTable((Lines(), Reference()), FourierProblem)
