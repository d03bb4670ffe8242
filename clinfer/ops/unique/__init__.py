"""Unique: the different elements or slices of a tensor, counted first so that the output has a size."""
from clinfer.ops.room import Room
from clinfer.ops.unique.kernels import FIND_KERNELS, KERNELS
from clinfer.ops.unique.op import FindUnique, Unique, convert_unique

ROOM = Room("unique", converters={"Unique": convert_unique}, kernels={FindUnique: FIND_KERNELS, Unique: KERNELS})

__all__ = ["ROOM", "FindUnique", "Unique"]
