"""Pooling: the maximum or the mean of windows."""
from clinfer.ops.pooling.kernels import KERNELS
from clinfer.ops.pooling.op import AvgPool, MaxPool, convert_max_pool
from clinfer.ops.room import Room, by_attributes

ROOM = Room("pooling", converters={"MaxPool": convert_max_pool, "AvgPool": by_attributes(AvgPool)},
            kernels={MaxPool: KERNELS, AvgPool: KERNELS})

__all__ = ["ROOM", "AvgPool", "MaxPool"]
