"""Convolution of data that are whole numbers of 8 bits times a step with weights of 8 bits."""
from clinfer.ops.operation import Operation
from clinfer.ops.quantised_convolution.kernels import KERNELS
from clinfer.ops.quantised_convolution.op import QuantisedConvolution

OPERATION = Operation("quantised_convolution", converters={}, kernels={QuantisedConvolution: KERNELS})

__all__ = ["OPERATION", "QuantisedConvolution"]
