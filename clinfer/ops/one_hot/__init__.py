"""OneHot: indices as vectors with one distinguished element."""
from clinfer.ops.one_hot.kernels import KERNELS
from clinfer.ops.one_hot.op import OneHot, OneHot16, convert_one_hot
from clinfer.ops.operation import Operation

OPERATION = Operation("one_hot", converters={"OneHot": convert_one_hot}, kernels={OneHot: KERNELS, OneHot16: KERNELS})

__all__ = ["OPERATION", "OneHot", "OneHot16"]
