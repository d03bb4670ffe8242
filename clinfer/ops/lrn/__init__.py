"""LRN: local response normalisation."""
from clinfer.ops.lrn.kernels import KERNELS
from clinfer.ops.lrn.op import LRN
from clinfer.ops.room import Room, by_attributes

ROOM = Room("lrn", converters={"LRN": by_attributes(LRN)}, kernels={LRN: KERNELS})

__all__ = ["LRN", "ROOM"]
