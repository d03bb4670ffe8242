"""CumSum: running sums along one axis."""
from clinfer.ops.cum_sum.kernels import KERNELS
from clinfer.ops.cum_sum.op import CumSum
from clinfer.ops.room import Room, by_attributes

ROOM = Room("cum_sum", converters={"CumSum": by_attributes(CumSum)}, kernels={CumSum: KERNELS})

__all__ = ["ROOM", "CumSum"]
