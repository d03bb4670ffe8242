"""Reverse: the elements of a tensor in the opposite order along some axes."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.reverse.kernels import KERNELS
from clinfer.ops.reverse.op import Reverse

OPERATION = Operation("reverse", converters={"Reverse": by_attributes(Reverse)}, kernels={Reverse: KERNELS})

__all__ = ["OPERATION", "Reverse"]
