"""The kernel of Reshape, for results that cannot share their input's memory (padded ones)."""
from clinfer.ops.shared.only_kernel import only_kernel

KERNELS = only_kernel("reshape_ref")
