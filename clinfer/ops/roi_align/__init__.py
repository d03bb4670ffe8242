"""ROIAlign: rectangles of feature maps pooled to one size."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.roi_align.kernels import KERNELS
from clinfer.ops.roi_align.op import ROIAlign

OPERATION = Operation("roi_align", converters={"ROIAlign": by_attributes(ROIAlign)}, kernels={ROIAlign: KERNELS})

__all__ = ["OPERATION", "ROIAlign"]
