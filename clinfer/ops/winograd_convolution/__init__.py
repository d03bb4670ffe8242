"""Convolution by filters of 3x3 that were transformed beforehand."""
from clinfer.ops.operation import Operation
from clinfer.ops.winograd_convolution.kernels import KERNELS
from clinfer.ops.winograd_convolution.op import FILTER, POINTS, WinogradConvolution, transformed

OPERATION = Operation("winograd_convolution", converters={}, kernels={WinogradConvolution: KERNELS})

__all__ = ["FILTER", "OPERATION", "POINTS", "WinogradConvolution", "transformed"]
