"""The kernels of transposed convolution."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.deconvolution.kernels.cpu import BlocksKernel, FewKernel, NarrowGroupsKernel
from clinfer.ops.deconvolution.kernels.floats import PixelsKernel
from clinfer.ops.deconvolution.kernels.gpu import LocalKernel
from clinfer.ops.deconvolution.kernels.reference import Reference
from clinfer.ops.deconvolution.problem import DeconvolutionProblem

KERNELS = KernelTable((FewKernel(), PixelsKernel(), BlocksKernel(), NarrowGroupsKernel(), LocalKernel(), Reference()),
                      DeconvolutionProblem)
