"""Interpolate: resizing by nearest neighbours, linear, cubic and Pillow's filters."""
from clinfer.ops.interpolate.kernels import KERNELS
from clinfer.ops.interpolate.op import Interpolate, Interpolate4, convert_interpolate
from clinfer.ops.operation import Operation

OPERATION = Operation("interpolate", converters={"Interpolate": convert_interpolate},
            kernels={Interpolate: KERNELS, Interpolate4: KERNELS})

__all__ = ["OPERATION", "Interpolate"]
