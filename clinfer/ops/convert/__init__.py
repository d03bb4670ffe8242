"""Convert and ConvertLike: the same values as another element type."""
from clinfer.ops.convert.kernels import KERNELS
from clinfer.ops.convert.op import Convert, convert_convert
from clinfer.ops.operation import Operation

OPERATION = Operation("convert", converters={"Convert": convert_convert, "ConvertLike": convert_convert},
            kernels={Convert: KERNELS})

__all__ = ["OPERATION", "Convert"]
