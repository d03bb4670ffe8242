"""Convolution and GroupConvolution over one to three spatial axes."""
from clinfer.ops.convolution.kernels import KERNELS
from clinfer.ops.convolution.op import Convolution, GroupConvolution
from clinfer.ops.convolution.problem import SAMPLE_SIZES, ConvolutionProblem, sample_problem
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("convolution",
            converters={cls.op_type: by_attributes(cls) for cls in (Convolution, GroupConvolution)},
            kernels={Convolution: KERNELS, GroupConvolution: KERNELS},
            sample=sample_problem, sample_sizes=SAMPLE_SIZES)

__all__ = ["OPERATION", "Convolution", "ConvolutionProblem", "GroupConvolution"]
