"""Inverse: matrices inverted."""
from clinfer.ops.inverse.kernels import KERNELS
from clinfer.ops.inverse.op import Inverse
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("inverse", converters={"Inverse": by_attributes(Inverse)}, kernels={Inverse: KERNELS})
