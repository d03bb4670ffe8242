"""Colour conversion: pictures in RGB or BGR from the planes of NV12 and I420."""
from clinfer.ops.color_convert.kernels import KERNELS
from clinfer.ops.color_convert.op import ColorConvert, convert_color_conversion
from clinfer.ops.operation import Operation

_NAMES = ("NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR")

OPERATION = Operation("color_convert", converters=dict.fromkeys(_NAMES, convert_color_conversion),
            kernels={ColorConvert: KERNELS})

__all__ = ["KERNELS", "OPERATION", "ColorConvert"]
