"""Roll: elements moved along axes, those that leave at one end coming back at the other."""
from clinfer.ops.operation import Operation
from clinfer.ops.roll.kernels import KERNELS
from clinfer.ops.roll.op import Roll, convert_roll

OPERATION = Operation("roll", converters={"Roll": convert_roll}, kernels={Roll: KERNELS})

__all__ = ["OPERATION", "Roll"]
