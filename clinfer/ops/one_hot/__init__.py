"""OneHot: indices as vectors with one distinguished element."""
from clinfer.ops.one_hot.kernels import KERNELS
from clinfer.ops.one_hot.op import OneHot, OneHot16, convert_one_hot
from clinfer.ops.room import Room

ROOM = Room("one_hot", converters={"OneHot": convert_one_hot}, kernels={OneHot: KERNELS, OneHot16: KERNELS})

__all__ = ["ROOM", "OneHot", "OneHot16"]
