"""Reorder: the same values in another format, padding or element type."""
from clinfer.ops.reorder.kernels import KERNELS
from clinfer.ops.reorder.op import Reorder
from clinfer.ops.room import Room

ROOM = Room("reorder", converters={}, kernels={Reorder: KERNELS})

__all__ = ["ROOM", "Reorder"]
