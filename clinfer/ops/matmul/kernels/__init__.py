"""The kernels of matrix products."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.matmul.kernels.bytes import BytesKernel
from clinfer.ops.matmul.kernels.cpu import BlocksKernel, TileKernel, VectorKernel
from clinfer.ops.matmul.kernels.floats import FloatsKernel, PairBlocksKernel, PairsKernel
from clinfer.ops.matmul.kernels.gpu import LocalKernel, RowsKernel
from clinfer.ops.matmul.kernels.nvidia import (
    FEW_ROWS,
    BulkKernel,
    FewRowsKernel,
    MmaKernel,
    UnpackedKernel,
    WarpGroupKernel,
)
from clinfer.ops.matmul.kernels.reference import Reference
from clinfer.ops.matmul.problem import MatMulProblem

KERNELS = KernelTable((VectorKernel(), FewRowsKernel(), UnpackedKernel(), BulkKernel(), WarpGroupKernel(), MmaKernel(),
                       BytesKernel(), PairsKernel(), PairBlocksKernel(), FloatsKernel(), BlocksKernel(), TileKernel(),
                       RowsKernel(), LocalKernel(), Reference()), MatMulProblem)

__all__ = ["FEW_ROWS", "KERNELS", "BulkKernel"]
