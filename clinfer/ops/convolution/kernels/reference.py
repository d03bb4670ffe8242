"""Convolution of all types, one element per work-item."""
from __future__ import annotations

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared.convolving import reference_time


class Reference(Kernel[ConvolutionProblem, None]):
    """Data as it comes, the output like the data."""

    name = "convolution_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: ConvolutionProblem) -> Formats:
        return Formats(tuple(x.format for x in problem.inputs), (problem.inputs[0].format,))

    def cost(self, problem: ConvolutionProblem, config: None) -> float:
        return reference_time(problem, problem.depth)

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        return Lowered((Stage("convolution_ref.cl", problem.operands(), Work((problem.outputs[0].count,)),
                              problem.constants, problem.steps, problem.epilogue_views()),))
