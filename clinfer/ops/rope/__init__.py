"""RoPE: rotary positions, which models write as products, slices and a concatenation."""
from clinfer.ops.operation import Operation
from clinfer.ops.rope.kernels import KERNELS
from clinfer.ops.rope.op import RoPE

OPERATION = Operation("rope", converters={}, kernels={RoPE: KERNELS})

__all__ = ["OPERATION", "RoPE"]
