"""Shuffled channels of several tensors, cut into parts."""
from clinfer.ops.operation import Operation
from clinfer.ops.shuffled_parts.kernels import KERNELS
from clinfer.ops.shuffled_parts.op import ShuffledParts

OPERATION = Operation("shuffled_parts", converters={}, kernels={ShuffledParts: KERNELS})

__all__ = ["OPERATION", "ShuffledParts"]
