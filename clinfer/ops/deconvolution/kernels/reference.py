"""Transposed convolution of all types, one element per work-item."""
from __future__ import annotations

from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage
from clinfer.ops.deconvolution.problem import DeconvolutionProblem
from clinfer.ops.shared.convolving import reference_time
from clinfer.ops.shared.copying import local_items


class Reference(Kernel[DeconvolutionProblem, None]):
    """Data as it comes, the output like the data."""

    name = "deconvolution_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: DeconvolutionProblem) -> Formats:
        return Formats(tuple(x.format for x in problem.inputs), (problem.inputs[0].format,))

    def cost(self, problem: DeconvolutionProblem, config: None) -> float:
        """It looks at filter elements of all phases."""
        return reference_time(problem, problem.depth)

    def lower(self, problem: DeconvolutionProblem, config: None) -> Lowered:
        return Lowered((Stage("deconvolution_ref.cl", problem.operands(), local_items(problem.outputs[0].count),
                              problem.has_bias, problem.steps, problem.epilogue_views()),))
