"""Eye: matrices with ones along a diagonal."""
from clinfer.ops.eye.kernels import KERNELS
from clinfer.ops.eye.op import Eye
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("eye", converters={"Eye": by_attributes(Eye)}, kernels={Eye: KERNELS})

__all__ = ["OPERATION", "Eye"]
