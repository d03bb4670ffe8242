"""Reductions: sum, mean, maximum, minimum, product, norms and logical and/or along axes."""
from clinfer.ops.operation import Operation
from clinfer.ops.reduce.kernels import KERNELS
from clinfer.ops.reduce.op import REDUCTIONS, Reduce, convert_reduce

OPERATION = Operation("reduce", converters={f"Reduce{mode}": convert_reduce for mode in REDUCTIONS},
                      kernels={Reduce: KERNELS})

__all__ = ["OPERATION", "Reduce"]
