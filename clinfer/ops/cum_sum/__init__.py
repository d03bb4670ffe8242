"""CumSum: running sums along one axis."""
from clinfer.ops.cum_sum.kernels import KERNELS
from clinfer.ops.cum_sum.op import CumSum
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("cum_sum", converters={"CumSum": by_attributes(CumSum)}, kernels={CumSum: KERNELS})

__all__ = ["OPERATION", "CumSum"]
