"""RoPE: rotary positions, which models write as products, slices and a concatenation."""
from clinfer.ops.room import Room
from clinfer.ops.rope.kernels import KERNELS
from clinfer.ops.rope.op import RoPE

ROOM = Room("rope", converters={}, kernels={RoPE: KERNELS})

__all__ = ["ROOM", "RoPE"]
