"""Concat: tensors one behind the other along one axis."""
from clinfer.ops.concat.kernels import KERNELS
from clinfer.ops.concat.op import Concat
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("concat", converters={"Concat": by_attributes(Concat)}, kernels={Concat: KERNELS})

__all__ = ["OPERATION", "Concat"]
