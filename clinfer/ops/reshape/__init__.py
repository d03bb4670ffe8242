"""Reshape, Squeeze and Unsqueeze: the same elements under another shape, without a copy where memory allows."""
from clinfer.ops.reshape.kernels import KERNELS
from clinfer.ops.reshape.op import Reshape, Squeeze, Unsqueeze
from clinfer.ops.room import Room, by_attributes

ROOM = Room("reshape",
            converters={"Reshape": by_attributes(Reshape), "Squeeze": by_attributes(Squeeze),
                        "Unsqueeze": by_attributes(Unsqueeze)},
            kernels={Reshape: KERNELS, Squeeze: KERNELS, Unsqueeze: KERNELS})

__all__ = ["ROOM", "Reshape", "Squeeze", "Unsqueeze"]
