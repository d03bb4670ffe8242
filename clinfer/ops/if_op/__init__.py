"""If: runs one of two bodies, decided by a value that the host reads."""
from clinfer.ops.if_op.op import If, convert_if
from clinfer.ops.operation import Operation

OPERATION = Operation("if_op", converters={"If": convert_if})

__all__ = ["OPERATION", "If"]
