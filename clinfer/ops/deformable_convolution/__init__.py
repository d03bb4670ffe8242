"""DeformableConvolution: a convolution whose filter taps are moved."""
from clinfer.ops.deformable_convolution.kernels import KERNELS
from clinfer.ops.deformable_convolution.op import SampleTaps, convert_deformable_convolution
from clinfer.ops.operation import Operation

OPERATION = Operation("deformable_convolution", converters={"DeformableConvolution": convert_deformable_convolution},
                      kernels={SampleTaps: KERNELS})
