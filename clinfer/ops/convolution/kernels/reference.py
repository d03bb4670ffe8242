"""Convolution of all types, one element per work-item."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Kernel, Lowered, Stage, Work, planar_formats
from clinfer.ops.convolution.problem import ConvolutionProblem
from clinfer.ops.shared import tensor_cores
from clinfer.ops.shared.convolving import reference_time
from clinfer.runtime.capabilities import Capabilities


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


class ChannelsLastReference(Reference):
    """The same from planes to channels last, for tensors that are too large for those kernels of tensor cores which lay
    results so."""

    name = "convolution_ref_channels_last"

    def targets(self, device: Capabilities) -> str | None:
        return tensor_cores.needs_tensor_cores(device)

    def formats(self, problem: ConvolutionProblem) -> Formats:
        planar = planar_formats(problem)
        return planar if problem.inputs[0].rank > 4 else Formats(planar.inputs, (Format.of("byxf"),))

    def supports(self, problem: ConvolutionProblem, config: None) -> str | None:
        return None if problem.is_large else "made for tensors whose elements take 64 bits to number"
