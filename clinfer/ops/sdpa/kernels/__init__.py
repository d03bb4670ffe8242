"""The kernels of attention."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.sdpa.kernels.cpu import RowsKernel, TilesKernel
from clinfer.ops.sdpa.kernels.floats import FloatsKernel, PairsKernel, WideFloatsKernel
from clinfer.ops.sdpa.kernels.gpu import LocalKernel, SplitKernel
from clinfer.ops.sdpa.kernels.nvidia import GroupsKernel, MmaKernel
from clinfer.ops.sdpa.kernels.reference import Reference
from clinfer.ops.sdpa.problem import AttentionProblem

KERNELS = KernelTable((GroupsKernel(), MmaKernel(), PairsKernel(), WideFloatsKernel(), FloatsKernel(), RowsKernel(),
                       TilesKernel(), SplitKernel(), LocalKernel(), Reference()), AttentionProblem)
