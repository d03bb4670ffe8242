"""Eye: matrices with ones along a diagonal."""
from clinfer.ops.eye.kernels import KERNELS
from clinfer.ops.eye.op import Eye
from clinfer.ops.room import Room, by_attributes

ROOM = Room("eye", converters={"Eye": by_attributes(Eye)}, kernels={Eye: KERNELS})

__all__ = ["ROOM", "Eye"]
