"""Pad: elements added around a tensor, or cut off."""
from clinfer.ops.pad.kernels import KERNELS
from clinfer.ops.pad.op import Pad
from clinfer.ops.room import Room, by_attributes

ROOM = Room("pad", converters={"Pad": by_attributes(Pad)}, kernels={Pad: KERNELS})

__all__ = ["ROOM", "Pad"]
