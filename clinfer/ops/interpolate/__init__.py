"""Interpolate: resizing by nearest neighbours, linear, cubic and Pillow's filters."""
from clinfer.ops.interpolate.kernels import KERNELS
from clinfer.ops.interpolate.op import Interpolate, Interpolate4, convert_interpolate
from clinfer.ops.room import Room

ROOM = Room("interpolate", converters={"Interpolate": convert_interpolate},
            kernels={Interpolate: KERNELS, Interpolate4: KERNELS})

__all__ = ["ROOM", "Interpolate"]
