"""Kernels of CountNonZero and NonZero: work-items walk runs of elements."""
from __future__ import annotations

from clinfer.kernels.contract import (
    Constant,
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    Work,
    all_operands,
    input_operand,
    output_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.nonzero.op import CHUNK
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.data_formats import data_as_it_comes

SCAN_GROUP = 64


def _walk(problem: Problem) -> dict[str, Constant]:
    """ADVANCE moves coordinates to the next element in row-major order."""
    rank = problem.inputs[0].rank
    text = "(c)[0] += 1;" if rank else ""
    for axis in range(1, rank):
        text = f"if (++(c)[{axis}] == INPUT0_SIZE_{axis}) {{ (c)[{axis}] = 0; {text} }}"
    return {"CHUNK": CHUNK, "ADVANCE(c)": f"do {{ {text} }} while (0)"}


class Count(Kernel[Problem, None]):
    """The count of each run, then the sums of those before it."""

    name = "count_nonzero_ref"
    efficiency = 0.05

    def formats(self, problem: Problem) -> Formats:
        return data_as_it_comes(problem)

    def cost(self, problem: Problem, config: None) -> float:
        return time_of(problem.capabilities.ceilings, nbytes=problem.moved_bytes, bandwidth=self.efficiency, launches=2)

    def lower(self, problem: Problem, config: None) -> Lowered:
        runs = output_operand(problem, 1)
        count = Stage("count_nonzero_ref.cl", (input_operand(problem, 0), runs),
                      local_items(problem.outputs[1].count), _walk(problem))
        scan = Stage("count_nonzero_scan.cl", (output_operand(problem, 0), runs), Work((SCAN_GROUP,), (SCAN_GROUP,)),
                     {"GROUP": SCAN_GROUP})
        return Lowered((count, scan))


class Coordinates(Kernel[Problem, None]):
    """The coordinates of the elements of each run."""

    name = "nonzero_ref"
    efficiency = 0.05

    def formats(self, problem: Problem) -> Formats:
        return data_as_it_comes(problem)

    def lower(self, problem: Problem, config: None) -> Lowered:
        runs = problem.inputs[2].count
        return Lowered((Stage("nonzero_ref.cl", all_operands(problem), local_items(runs), _walk(problem)),))


COUNT_KERNELS = KernelTable((Count(),))
KERNELS = KernelTable((Coordinates(),))
