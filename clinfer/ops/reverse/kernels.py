"""Kernels of Reverse: a copy of the input's view with negative pitches."""
from clinfer.kernels.contract import KernelTable
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided
from clinfer.ops.shared.view_copy import IndexProblem

KERNELS = KernelTable((CopyRows("reverse"), CopyStrided("reverse"), CopyReference("reverse")), IndexProblem)
