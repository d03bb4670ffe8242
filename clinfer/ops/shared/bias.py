"""The bias of convolutions and matrix products: an input that the primitive names by `bias_input`, or None."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand


def bias_operand(params: KernelParams) -> tuple[Operand, ...]:
    """BIAS, if the primitive has one."""
    index = params.primitive.bias_input
    return () if index is None else (Operand("BIAS", BufferRef("input", index), TensorView.of(params.inputs[index])),)


def bias_constants(params: KernelParams) -> dict[str, int]:
    """Whether there is one."""
    return {"HAS_BIAS": int(params.primitive.bias_input is not None)}
