"""The kernels of quantised convolutions: bytes on CPUs, and a reference."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.convolution import ConvolutionProblem
from clinfer.ops.quantised_convolution.kernels.bytes import BytesKernel, FewChannelsKernel
from clinfer.ops.quantised_convolution.kernels.reference import QuantisedReference
from clinfer.ops.quantised_convolution.kernels.runs import FewChannelsRunsKernel, RunsKernel

KERNELS = KernelTable((RunsKernel(), FewChannelsRunsKernel(), BytesKernel(), FewChannelsKernel(), QuantisedReference()),
                      ConvolutionProblem)
