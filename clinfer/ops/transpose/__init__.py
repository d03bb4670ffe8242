"""Transpose: the axes of a tensor in another order."""
from clinfer.ops.room import Room, by_attributes
from clinfer.ops.transpose.kernels import KERNELS
from clinfer.ops.transpose.op import Transpose

ROOM = Room("transpose", converters={"Transpose": by_attributes(Transpose)}, kernels={Transpose: KERNELS})

__all__ = ["ROOM", "Transpose"]
