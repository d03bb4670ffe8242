"""Append: a part of a tensor behind another one, as caches grow."""
from clinfer.ops.append.kernels import KERNELS
from clinfer.ops.append.op import Append
from clinfer.ops.operation import Operation

OPERATION = Operation("append", converters={}, kernels={Append: KERNELS})

__all__ = ["OPERATION", "Append"]
