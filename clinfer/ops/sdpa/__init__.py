"""ScaledDotProductAttention: the core of transformers."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.sdpa.kernels import KERNELS
from clinfer.ops.sdpa.kernels.gpu import MOST_WIDTH
from clinfer.ops.sdpa.op import ScaledDotProductAttention

OPERATION = Operation("sdpa", converters={"ScaledDotProductAttention": by_attributes(ScaledDotProductAttention)},
            kernels={ScaledDotProductAttention: KERNELS})

__all__ = ["KERNELS", "MOST_WIDTH", "OPERATION", "ScaledDotProductAttention"]
