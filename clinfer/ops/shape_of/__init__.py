"""ShapeOf: the shape of a tensor as a tensor; never leaves the host."""
from clinfer.ops.room import Room
from clinfer.ops.shape_of.op import ShapeOf, convert_shape_of

ROOM = Room("shape_of", converters={"ShapeOf": convert_shape_of})

__all__ = ["ROOM", "ShapeOf"]
