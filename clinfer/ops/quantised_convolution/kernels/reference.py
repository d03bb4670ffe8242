"""The reference kernel of quantised convolutions."""
from __future__ import annotations

from clinfer.kernels.contract import Lowered, Stage, Work, input_operand, output_operand
from clinfer.ops.convolution import ConvolutionProblem
from clinfer.ops.convolution.kernels.reference import Reference
from clinfer.ops.quantised_convolution.kernels.bytes import GRID, SCALE, WHOLE, bias_operands, named_operand
from clinfer.ops.shared.spatial import data_view


class QuantisedReference(Reference):
    """The same of bytes less a zero point."""

    name = "quantised_convolution_ref"

    def lower(self, problem: ConvolutionProblem, config: None) -> Lowered:
        operands = (input_operand(problem, 0, data_view(problem.inputs[0])),
                    input_operand(problem, WHOLE, problem.weights_view), input_operand(problem, SCALE),
                    named_operand("INPUT3", problem, GRID), *bias_operands(problem),
                    output_operand(problem, 0, data_view(problem.outputs[0])))
        return Lowered((Stage("quantised_convolution_ref.cl", operands, Work((problem.outputs[0].count,)),
                              problem.has_bias, problem.steps, problem.epilogue_views()),))
