"""GroupNormalization: mean-variance normalisation of groups of channels, with a scale and bias per channel."""
from clinfer.ops.group_norm.kernels import KERNELS
from clinfer.ops.group_norm.op import GroupNormalization
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("group_norm", converters={"GroupNormalization": by_attributes(GroupNormalization)},
            kernels={GroupNormalization: KERNELS})

__all__ = ["OPERATION", "GroupNormalization"]
