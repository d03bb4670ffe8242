"""The kernels of convolution."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.convolution.kernels.copied import CopiedKernel, WindowsKernel
from clinfer.ops.convolution.kernels.cpu import (
    BlocksKernel,
    BlocksToPlanarKernel,
    NarrowGroupsKernel,
    PlanarKernel,
    PlanarToBlocksKernel,
)
from clinfer.ops.convolution.kernels.floats import FloatsKernel, PairsKernel, PixelsKernel, PlanarFloatsKernel
from clinfer.ops.convolution.kernels.gpu import DepthwiseKernel, LocalKernel, OnePixelKernel
from clinfer.ops.convolution.kernels.nvidia import (
    BulkKernel,
    MmaKernel,
    PatchesKernel,
    PlanarMmaKernel,
    RowsKernel,
    WarpGroupKernel,
)
from clinfer.ops.convolution.kernels.reference import ChannelsLastReference, Reference
from clinfer.ops.convolution.problem import ConvolutionProblem

KERNELS = KernelTable((NarrowGroupsKernel(), CopiedKernel(), WindowsKernel(), PairsKernel(), FloatsKernel(),
                       PixelsKernel(), PlanarFloatsKernel(), PlanarToBlocksKernel(), PlanarKernel(), BlocksKernel(),
                       BlocksToPlanarKernel(), BulkKernel(), WarpGroupKernel(), MmaKernel(), PatchesKernel(),
                       RowsKernel(), PlanarMmaKernel(), DepthwiseKernel(), OnePixelKernel(), LocalKernel(),
                       ChannelsLastReference(), Reference()), ConvolutionProblem)
