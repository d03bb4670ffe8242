"""Kernels of slices: copies of a part of the input's view."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.shared.block_copying import CopyBlocks
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided
from clinfer.ops.shared.view_copy import IndexProblem

KERNELS = KernelTable((CopyRows("slice"), CopyBlocks("slice"), CopyStrided("slice"), CopyReference("slice")),
                      IndexProblem)
