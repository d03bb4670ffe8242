"""ROIAlign and ROIAlignRotated: rectangles of feature maps pooled to one size."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.roi_align.kernels import KERNELS, ROTATED_KERNELS
from clinfer.ops.roi_align.op import ROIAlign, ROIAlignRotated

OPERATION = Operation("roi_align", converters={"ROIAlign": by_attributes(ROIAlign),
                                               "ROIAlignRotated": by_attributes(ROIAlignRotated)},
                      kernels={ROIAlign: KERNELS, ROIAlignRotated: ROTATED_KERNELS})

__all__ = ["OPERATION", "ROIAlign"]
