"""Split and VariadicSplit: a tensor cut into parts along one axis."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.split.kernels import KERNELS
from clinfer.ops.split.op import Split, VariadicSplit, convert_variadic_split

OPERATION = Operation("split",
            converters={"Split": by_attributes(Split), "VariadicSplit": convert_variadic_split},
            kernels={Split: KERNELS, VariadicSplit: KERNELS})

__all__ = ["OPERATION", "Split", "VariadicSplit"]
