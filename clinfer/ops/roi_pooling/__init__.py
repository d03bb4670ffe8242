"""ROIPooling: rectangles of feature maps pooled to one size."""
from clinfer.ops.operation import Operation
from clinfer.ops.roi_pooling.kernels import KERNELS
from clinfer.ops.roi_pooling.op import ROIPooling, convert_roi_pooling

OPERATION = Operation("roi_pooling", converters={"ROIPooling": convert_roi_pooling}, kernels={ROIPooling: KERNELS})
