"""Broadcast: a tensor stretched to a shape."""
from clinfer.ops.broadcast.kernels import KERNELS
from clinfer.ops.broadcast.op import Broadcast, convert_broadcast
from clinfer.ops.room import Room

ROOM = Room("broadcast", converters={"Broadcast": convert_broadcast}, kernels={Broadcast: KERNELS})

__all__ = ["ROOM", "Broadcast"]
