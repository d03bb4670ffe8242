"""If: runs one of two bodies, decided by a value that the host reads."""
from clinfer.ops.if_op.op import If, convert_if
from clinfer.ops.room import Room

ROOM = Room("if_op", converters={"If": convert_if})

__all__ = ["ROOM", "If"]
