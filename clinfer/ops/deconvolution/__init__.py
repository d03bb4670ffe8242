"""ConvolutionBackpropData and GroupConvolutionBackpropData: transposed convolution over one to three spatial axes."""
from clinfer.ops.deconvolution.kernels import KERNELS
from clinfer.ops.deconvolution.op import (
    ConvolutionBackpropData,
    GroupConvolutionBackpropData,
    convert_convolution_backprop_data,
)
from clinfer.ops.operation import Operation

_PRIMITIVES = (ConvolutionBackpropData, GroupConvolutionBackpropData)

OPERATION = Operation("deconvolution",
                      converters={cls.op_type: convert_convolution_backprop_data for cls in _PRIMITIVES},
                      kernels=dict.fromkeys(_PRIMITIVES, KERNELS))

__all__ = ["OPERATION", "ConvolutionBackpropData", "GroupConvolutionBackpropData"]
