"""Pad: elements added around a tensor, or cut off."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.pad.kernels import KERNELS
from clinfer.ops.pad.op import Pad

OPERATION = Operation("pad", converters={"Pad": by_attributes(Pad)}, kernels={Pad: KERNELS})

__all__ = ["OPERATION", "Pad"]
