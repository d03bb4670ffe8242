"""Range: evenly spaced numbers."""
from clinfer.ops.range.kernels import KERNELS
from clinfer.ops.range.op import Range, convert_range
from clinfer.ops.room import Room

ROOM = Room("range", converters={"Range": convert_range}, kernels={Range: KERNELS})

__all__ = ["ROOM", "Range"]
