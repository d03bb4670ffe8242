"""NonMaxSuppression: the best of boxes that overlap, selected first so that the output has a size."""
from clinfer.ops.non_max_suppression.kernels import KERNELS, SELECT_KERNELS
from clinfer.ops.non_max_suppression.op import (
    NonMaxSuppression,
    SelectBoxes,
    convert_nms_rotated,
    convert_non_max_suppression,
)
from clinfer.ops.operation import Operation

OPERATION = Operation("non_max_suppression", converters={
    "NonMaxSuppression": convert_non_max_suppression, "NMSRotated": convert_nms_rotated},
            kernels={SelectBoxes: SELECT_KERNELS, NonMaxSuppression: KERNELS})

__all__ = ["OPERATION", "NonMaxSuppression", "SelectBoxes"]
