"""Concat: tensors one behind the other along one axis."""
from clinfer.ops.concat.kernels import KERNELS
from clinfer.ops.concat.op import Concat
from clinfer.ops.room import Room, by_attributes

ROOM = Room("concat", converters={"Concat": by_attributes(Concat)}, kernels={Concat: KERNELS})

__all__ = ["ROOM", "Concat"]
