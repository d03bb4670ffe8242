"""Matrix products of all types, one element per work-item."""
from __future__ import annotations

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work, planar_formats
from clinfer.kernels.cost import time_of
from clinfer.ops.matmul.problem import MatMulProblem

_SHARE_OF_PEAK = 0.01
_STEP_ON_GPU = 60.0
"""Nanoseconds of a step along the inner axis, which waits for what it loads."""


class Reference(Kernel[MatMulProblem, None]):
    """Reads both sides as they lie, in any format."""

    name = "matmul_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: MatMulProblem) -> Formats:
        return Formats(tuple(x.format for x in problem.inputs), planar_formats(problem).outputs)

    def cost(self, problem: MatMulProblem, config: None) -> float:
        flops = 2 * problem.batch * problem.rows * problem.columns * problem.depth
        waiting = 0.0 if problem.runs_on_cpu else _STEP_ON_GPU * problem.depth
        return waiting + time_of(problem.capabilities.ceilings, flops=flops, efficiency=_SHARE_OF_PEAK,
                                 nbytes=problem.moved_bytes)

    def lower(self, problem: MatMulProblem, config: None) -> Lowered:
        product = problem.product
        operands = problem.operands(product.left, product.right_in_batch(), product.output)
        return Lowered((Stage("matmul_ref.cl", operands, Work((problem.outputs[0].count,)), problem.constants,
                              epilogue_views=problem.epilogue_views(collapse=False)),))
