"""Broadcast: a tensor stretched to a shape."""
from clinfer.ops.broadcast.kernels import KERNELS
from clinfer.ops.broadcast.op import Broadcast, convert_broadcast
from clinfer.ops.operation import Operation

OPERATION = Operation("broadcast", converters={"Broadcast": convert_broadcast}, kernels={Broadcast: KERNELS})

__all__ = ["OPERATION", "Broadcast"]
