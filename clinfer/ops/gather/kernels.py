"""Kernels of the gathering operations."""
from __future__ import annotations

import math

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, KernelTable, Lowered, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.gather.problem import GatherProblem
from clinfer.ops.shared.copying import ROW_START, local_items
from clinfer.ops.shared.views import static

_FLOPS_PER_ELEMENT, _FLOPS_PER_ROW = 1000.0, 8000.0
"""Operations in the time of which one element is found on a CPU, and the start of one row (measured on a Xeon: 2.1 ns,
and 20 by Intel's runtime, 8 by PoCL)."""


class Reference(Kernel[GatherProblem, None]):
    """One element per work-item."""

    name = "gather_ref"
    has_epilogue = True
    supports_large = True
    efficiency = 0.1

    def formats(self, problem: GatherProblem) -> Formats:
        """Inputs as they come unless they are blocked, the output planar."""
        inputs = tuple(Format.planar(x.rank) if x.format.blocks else x.format for x in problem.inputs)
        return Formats(inputs, tuple(Format.planar(x.rank) for x in problem.outputs))

    def cost(self, problem: GatherProblem, config: None) -> float:
        if not problem.runs_on_cpu:
            return super().cost(problem, config)
        return time_of(problem.capabilities.ceilings, flops=problem.outputs[0].count * _FLOPS_PER_ELEMENT,
                       nbytes=problem.moved_bytes)

    def lower(self, problem: GatherProblem, config: None) -> Lowered:
        return Lowered((Stage("gather_ref.cl", problem.operands(problem.views), local_items(problem.outputs[0].count),
                              problem.constants, problem.arguments, problem.views.read, problem.moves),))


class Rows(Reference):
    """Contiguous rows."""

    name = "gather_rows"
    efficiency = 0.8

    def accepts(self, problem: GatherProblem, config: None) -> str | None:
        if not problem.is_decided:
            return "rows may be short, or none"
        if problem.outputs[0].count == 0 or problem.rows is not None:
            return None
        return "no axis is contiguous in data and output"

    def cost(self, problem: GatherProblem, config: None) -> float:
        """Without its rows, where they are not known."""
        rows = math.prod(static(problem.rows.output.sizes)[:-1]) if problem.is_decided and problem.rows else 0
        starts = 0 if problem.runs_on_cpu else rows * problem.outputs[0].element_type.byte_size(2 * ROW_START)
        flops = rows * _FLOPS_PER_ROW if problem.runs_on_cpu else 0.0
        return time_of(problem.capabilities.ceilings, flops=flops, nbytes=problem.moved_bytes + starts,
                       bandwidth=self.efficiency)

    def lower(self, problem: GatherProblem, config: None) -> Lowered:
        vector, span = (16, 256) if problem.runs_on_cpu else (4, 4)
        views = problem.rows_or_open
        *outer, length = static(views.output.sizes)
        constants = {**problem.constants, "VEC": vector, "SPAN": span}
        return Lowered((Stage("gather_rows.cl", problem.operands(views), Work((-(-length // span), math.prod(outer))),
                              constants, problem.arguments, views.read, problem.moves),))


KERNELS = KernelTable((Rows(), Reference()), GatherProblem)
