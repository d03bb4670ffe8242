"""Operations of the user's, computed by OpenCL C that the user wrote. Their converters are made for each model."""
from clinfer.ops.custom.conversion import converter_of
from clinfer.ops.custom.kernels import KERNELS
from clinfer.ops.custom.op import CustomOp
from clinfer.ops.operation import Operation

OPERATION = Operation("custom", converters={}, kernels={CustomOp: KERNELS})

__all__ = ["OPERATION", "converter_of"]
