"""Reverse: the elements of a tensor in the opposite order along some axes."""
from clinfer.ops.reverse.kernels import KERNELS
from clinfer.ops.reverse.op import Reverse
from clinfer.ops.room import Room, by_attributes

ROOM = Room("reverse", converters={"Reverse": by_attributes(Reverse)}, kernels={Reverse: KERNELS})

__all__ = ["ROOM", "Reverse"]
