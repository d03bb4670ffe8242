"""Reorder: the same values in another format, padding or element type."""
from clinfer.ops.operation import Operation
from clinfer.ops.reorder.kernels import KERNELS
from clinfer.ops.reorder.op import Reorder

OPERATION = Operation("reorder", converters={}, kernels={Reorder: KERNELS})

__all__ = ["OPERATION", "Reorder"]
