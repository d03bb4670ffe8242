"""GroupNormalization: mean-variance normalisation of groups of channels, with a scale and bias per channel."""
from clinfer.ops.group_norm.kernels import KERNELS
from clinfer.ops.group_norm.op import GroupNormalization
from clinfer.ops.room import Room, by_attributes

ROOM = Room("group_norm", converters={"GroupNormalization": by_attributes(GroupNormalization)},
            kernels={GroupNormalization: KERNELS})

__all__ = ["ROOM", "GroupNormalization"]
