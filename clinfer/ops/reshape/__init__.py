"""Reshape, Squeeze, Unsqueeze, Identity: the same elements under another shape, with no copy if memory allows."""
from clinfer.ops.reshape.kernels import KERNELS
from clinfer.ops.reshape.op import Identity, Reshape, Squeeze, Unsqueeze
from clinfer.ops.room import Room, by_attributes

ROOM = Room("reshape",
            converters={"Reshape": by_attributes(Reshape), "Squeeze": by_attributes(Squeeze),
                        "Unsqueeze": by_attributes(Unsqueeze), "Identity": by_attributes(Identity)},
            kernels={Reshape: KERNELS, Squeeze: KERNELS, Unsqueeze: KERNELS,
                     Identity: KERNELS})

__all__ = ["ROOM", "Identity", "Reshape", "Squeeze", "Unsqueeze"]
