"""PSROIPooling and DeformablePSROIPooling: rectangles pooled, each bin from channels of its own."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.psroi_pooling.kernels import DEFORMABLE_KERNELS, KERNELS
from clinfer.ops.psroi_pooling.op import DeformablePSROIPooling, PSROIPooling

OPERATION = Operation("psroi_pooling", converters={"PSROIPooling": by_attributes(PSROIPooling),
                                                   "DeformablePSROIPooling": by_attributes(DeformablePSROIPooling)},
                      kernels={PSROIPooling: KERNELS, DeformablePSROIPooling: DEFORMABLE_KERNELS})
