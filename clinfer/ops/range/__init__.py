"""Range: evenly spaced numbers."""
from clinfer.ops.operation import Operation
from clinfer.ops.range.kernels import KERNELS
from clinfer.ops.range.op import Range, convert_range

OPERATION = Operation("range", converters={"Range": convert_range}, kernels={Range: KERNELS})

__all__ = ["OPERATION", "Range"]
