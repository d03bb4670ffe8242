"""Convolution by small filters that were transformed beforehand."""
from clinfer.ops.operation import Operation
from clinfer.ops.winograd_convolution.kernels import KERNELS
from clinfer.ops.winograd_convolution.op import WinogradConvolution, sides_of, tiles_of, transformed

OPERATION = Operation("winograd_convolution", converters={}, kernels={WinogradConvolution: KERNELS})

__all__ = ["OPERATION", "WinogradConvolution", "sides_of", "tiles_of", "transformed"]
