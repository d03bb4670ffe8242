"""Roll: elements moved along axes, those that leave at one end coming back at the other."""
from clinfer.ops.operation import Operation
from clinfer.ops.roll.op import convert_roll

OPERATION = Operation("roll", converters={"Roll": convert_roll})

__all__ = ["OPERATION"]
