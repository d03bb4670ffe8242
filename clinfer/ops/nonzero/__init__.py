"""NonZero: the coordinates of the elements that are not zero, counted first so that the output has a size."""
from clinfer.ops.nonzero.kernels import COUNT_KERNELS, KERNELS
from clinfer.ops.nonzero.op import CountNonZero, NonZero, convert_non_zero
from clinfer.ops.operation import Operation

OPERATION = Operation("nonzero", converters={"NonZero": convert_non_zero},
            kernels={CountNonZero: COUNT_KERNELS, NonZero: KERNELS})

__all__ = ["OPERATION", "CountNonZero", "NonZero"]
