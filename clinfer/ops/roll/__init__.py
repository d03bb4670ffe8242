"""Roll: elements moved along axes, those that leave at one end coming back at the other."""
from clinfer.ops.roll.op import convert_roll
from clinfer.ops.room import Room

ROOM = Room("roll", converters={"Roll": convert_roll})

__all__ = ["ROOM"]
