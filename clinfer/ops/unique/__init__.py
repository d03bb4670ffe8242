"""Unique: the different elements or slices of a tensor, counted first so that the output has a size."""
from clinfer.ops.operation import Operation
from clinfer.ops.unique.kernels import FIND_KERNELS, KERNELS
from clinfer.ops.unique.op import FindUnique, Unique, convert_unique

OPERATION = Operation("unique", converters={"Unique": convert_unique},
                      kernels={FindUnique: FIND_KERNELS, Unique: KERNELS})

__all__ = ["OPERATION", "FindUnique", "Unique"]
