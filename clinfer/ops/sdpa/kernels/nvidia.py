"""Attention of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work
from clinfer.kernels.cost import time_of
from clinfer.ops.sdpa.problem import KEY, QUERY, VALUE, AttentionProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.tensor_cores import CHUNK, is_aligned
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities

THREADS, ROWS, KEYS = 128, 64, 64
WIDTHS = (32, 64, 128)
"""Halves of a row in local memory."""
_GROUPS_A_UNIT = 4


@dataclass(frozen=True)
class Copies:
    """How rows come to local memory, and the share of the tensor cores' peak that is reached so."""

    aligned: bool
    share_of_peak: float

    def __str__(self) -> str:
        return "" if self.aligned else "anywhere"


class MmaKernel(Kernel[AttentionProblem, Copies]):
    """A group computes `ROWS` rows of the result."""

    name = "sdpa_mma"

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def configs(self, problem: AttentionProblem) -> tuple[Copies, ...]:
        return Copies(True, 0.3), Copies(False, 0.2)

    def supports(self, problem: AttentionProblem, copies: Copies) -> str | None:
        widths = _widths(problem)
        if widths is None:
            return f"last sizes that are unknown, zero or above {WIDTHS[-1]}"
        if not problem.rows_are_contiguous((QUERY, KEY, VALUE)):
            return "the last axis of a part does not lie last in memory"
        if any(x.element_type.name == "f64" for x in problem.inputs):
            return "computes in f32"
        depth, width = widths
        return problem.layout_refusal() or tensor_cores.refusal(
            problem, (QUERY, KEY, VALUE), 2 * (ROWS * depth + 2 * KEYS * (depth + width)))

    def accepts(self, problem: AttentionProblem, copies: Copies) -> str | None:
        if not copies.aligned or all(is_aligned(view, -1) for view in problem.data):
            return problem.table_refusal()
        return f"rows that do not start at multiples of {CHUNK} elements"

    def cost(self, problem: AttentionProblem, copies: Copies) -> float:
        ceilings = problem.capabilities.ceilings
        return problem.walking_ns(ROWS, KEYS, _GROUPS_A_UNIT) + time_of(
            ceilings, flops=problem.flops, peak=ceilings.tensor, efficiency=copies.share_of_peak,
            nbytes=problem.moved_bytes)

    def lower(self, problem: AttentionProblem, copies: Copies) -> Lowered:
        widths = _widths(problem)
        assert widths is not None
        depth, width = static((problem.depth, problem.width))
        constants = {**problem.constants, "KEYS": KEYS, "QUERY_WIDTH": widths[0], "VALUE_WIDTH": widths[1],
                     "QUERY_STEPS": ceil(depth / 16), "VALUE_STEPS": ceil(width / 16), "ALIGNED": copies.aligned}
        work = Work((ceil(problem.queries / ROWS) * THREADS, prod(static(problem.batch))), (THREADS, 1))
        return Lowered((Stage("sdpa_mma.cl", problem.in_place_operands(), work, constants),))


def _widths(problem: AttentionProblem) -> tuple[int, int] | None:
    """The rows of queries and keys, and those of values, in local memory; None where they are unknown or large."""
    sizes = problem.depth, problem.width
    if not all(isinstance(size, int) and 0 < size <= WIDTHS[-1] for size in sizes):
        return None
    depth, width = (min(w for w in WIDTHS if w >= size) for size in static(sizes))
    return depth, width
