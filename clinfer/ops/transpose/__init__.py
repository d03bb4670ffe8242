"""Transpose: the axes of a tensor in another order."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.transpose.kernels import KERNELS
from clinfer.ops.transpose.op import Transpose

OPERATION = Operation("transpose", converters={"Transpose": by_attributes(Transpose)}, kernels={Transpose: KERNELS})

__all__ = ["OPERATION", "Transpose"]
