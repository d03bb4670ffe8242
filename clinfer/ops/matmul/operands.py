"""What the kernels of the matmul room take: operands under the views of the product, and constants."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand, output_operand
from clinfer.ops.matmul.views import Product, product_of
from clinfer.ops.matmul.weights import weights_constants, weights_operands
from clinfer.ops.shared.bias import bias_constants, bias_operand


def input_of(index: int, view: TensorView, buffer: BufferRef | None = None) -> Operand:
    """One side of the product under a view; it may lie in another buffer than its input."""
    return Operand(f"INPUT{index}", buffer or BufferRef("input", index), view)


def all_operands(params: KernelParams, left: Operand, right: Operand, output: TensorView) -> tuple[Operand, ...]:
    """Both sides, what belongs to the right one, the bias, and the output under its view."""
    return (left, right, *weights_operands(params), *bias_operand(params), output_operand(params, 0, output))


def in_place_operands(params: KernelParams) -> tuple[Operand, ...]:
    """Both sides as they lie in memory."""
    product = collapsed(params)
    return all_operands(params, input_of(0, product.left), input_of(1, product.right_in_batch()), product.output)


def common_constants(params: KernelParams) -> dict[str, int]:
    """What all kernels must know of the right side and the bias."""
    return {**weights_constants(params), **bias_constants(params)}


def right_along_k(params: KernelParams) -> bool:
    """Whether the elements of one column of the right side lie together."""
    return params.inputs[1].rank == 1 or params.primitive.transpose_b


def collapsed(params: KernelParams) -> Product:
    """The views with all rows that meet the same right side as one matrix."""
    return product_of(params, collapse=True)
