"""What the kernels know of a transposed convolution: views with three spatial axes, steps and pads."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand, input_operand, output_operand
from clinfer.ops.shared.spatial import axis_arguments, data_view, per_axis


def spatial_rank(params: KernelParams) -> int:
    """The number of spatial axes of the model's operation."""
    return params.inputs[0].rank - 2


def filter_sizes(params: KernelParams) -> tuple[int, int, int]:
    """The filter along z, y, x (1 where the operation has no such axis); the weights must be static."""
    return per_axis(params.inputs[1].static_shape[2 + params.primitive.is_grouped:], 1)


def group_shape(params: KernelParams) -> tuple[int, int, int]:
    """(groups, output channels of one, input channels of one); the weights must be static."""
    shape = params.inputs[1].static_shape
    return (shape[0], shape[2], shape[1]) if params.primitive.is_grouped else (1, shape[1], shape[0])


def strides(params: KernelParams) -> tuple[int, int, int]:
    """The steps along z, y, x."""
    return per_axis(params.primitive.strides, 1)


def dilations(params: KernelParams) -> tuple[int, int, int]:
    """The distance of filter elements along z, y, x."""
    return per_axis(params.primitive.dilations, 1)


def pads(params: KernelParams) -> tuple[int, int, int]:
    """Elements of the full output cut off along z, y, x; layouts must be static."""
    rank = spatial_rank(params)
    sizes = (layout.static_shape[-rank:] for layout in (*params.inputs[:2], params.outputs[0]))
    cut = tuple(params.primitive.pad(axis, *of_axis) for axis, of_axis in enumerate(zip(*sizes, strict=True)))
    return per_axis(cut, 0)


def step_arguments(params: KernelParams) -> dict[str, int]:
    """Strides, dilations and pads as kernel arguments (pads are 0 while the layouts are dynamic)."""
    cut = pads(params) if params.is_static else (0, 0, 0)
    return axis_arguments(stride=strides(params), dilation=dilations(params), pad=cut)


def weights_view(params: KernelParams) -> TensorView:
    """The weights as [G, O, I, Z, Y, X]."""
    view = TensorView.of(params.inputs[1])
    if not params.primitive.is_grouped:
        view = view.insert_axes((0,), pitch=1)
    view = view.insert_axes(tuple(range(3, 9 - view.rank)), pitch=1)
    return view.permute((0, 2, 1, 3, 4, 5))


def operands(params: KernelParams) -> tuple[Operand, ...]:
    """Data, weights, BIAS if there is one, output."""
    index = params.primitive.bias_input
    bias = () if index is None else (Operand("BIAS", BufferRef("input", index), TensorView.of(params.inputs[index])),)
    return (input_operand(params, 0, data_view(params.inputs[0])), input_operand(params, 1, weights_view(params)),
            *bias, output_operand(params, 0, data_view(params.outputs[0])))


def bias_constants(params: KernelParams) -> Mapping[str, int]:
    """Whether the kernel has the bias argument."""
    return {"HAS_BIAS": int(params.primitive.bias_input is not None)}
