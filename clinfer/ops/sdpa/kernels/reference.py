"""Attention of all types and formats."""
from __future__ import annotations

from math import prod

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, input_operand, output_operand
from clinfer.kernels.cost import time_of
from clinfer.ops.sdpa.problem import KEY, QUERY, VALUE, AttentionProblem
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import static

_CHUNK = 16
_SHARE_OF_PEAK = 0.01
_STEP_ON_GPU = 60.0
"""Nanoseconds of a step along the keys, which waits for what it loads."""


class Reference(Kernel[AttentionProblem, None]):
    """A work-item computes `_CHUNK` elements of a row of the result."""

    name = "sdpa_ref"
    supports_large = True

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def cost(self, problem: AttentionProblem, config: None) -> float:
        waiting = 0.0 if problem.runs_on_cpu else _STEP_ON_GPU * problem.keys
        return waiting + time_of(problem.capabilities.ceilings, flops=problem.flops, efficiency=_SHARE_OF_PEAK,
                                 nbytes=problem.moved_bytes)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        data = [input_operand(problem, i, problem.stretched(i)) for i in (QUERY, KEY, VALUE)]
        operands = (*data, *problem.extra_operands(), output_operand(problem, 0, problem.result))
        *rows, size = static(problem.result.sizes)
        constants = {**problem.constants, "CHUNK": _CHUNK, "KEY_COUNT": f"INPUT1_SIZE_{problem.outputs[0].rank - 2}"}
        return Lowered((Stage("sdpa_ref.cl", operands, local_items(prod(rows) * -(-size // _CHUNK)), constants),))
