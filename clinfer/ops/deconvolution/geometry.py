"""What the kernels know of a transposed convolution: views with three spatial axes, steps and pads."""
from __future__ import annotations

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import KernelParams, Operand, input_operand, output_operand
from clinfer.kernels.tails import like_output
from clinfer.ops.shared.bias import bias_operand
from clinfer.ops.shared.spatial import axis_arguments, data_view, dilations, per_axis, strides


def group_shape(params: KernelParams) -> tuple[int, int, int]:
    """(groups, output channels of one, input channels of one); the weights must be static."""
    shape = params.inputs[1].static_shape
    return (shape[0], shape[2], shape[1]) if params.primitive.is_grouped else (1, shape[1], shape[0])


def pads(params: KernelParams) -> tuple[int, int, int]:
    """Elements of the full output cut off along z, y, x; layouts must be static."""
    rank = params.inputs[0].rank - 2
    sizes = (layout.static_shape[-rank:] for layout in (*params.inputs[:2], params.outputs[0]))
    cut = tuple(params.primitive.pad(axis, *of_axis) for axis, of_axis in enumerate(zip(*sizes, strict=True)))
    return per_axis(cut, 0)


def step_arguments(params: KernelParams) -> dict[str, int]:
    """Strides, dilations and pads as kernel arguments (pads are 0 while the layouts are dynamic)."""
    return axis_arguments(stride=strides(params), dilation=dilations(params),
                          pad=pads(params) if params.is_static else (0, 0, 0))


def weights_view(params: KernelParams) -> TensorView:
    """The weights as [G, O, I, Z, Y, X]."""
    view = TensorView.of(params.inputs[1])
    if not params.primitive.is_grouped:
        view = view.insert_axes((0,), pitch=1)
    view = view.insert_axes(tuple(range(3, 9 - view.rank)), pitch=1)
    return view.permute((0, 2, 1, 3, 4, 5))


def operands(params: KernelParams) -> tuple[Operand, ...]:
    """Data, weights, BIAS if there is one, output."""
    return (input_operand(params, 0, data_view(params.inputs[0])), input_operand(params, 1, weights_view(params)),
            *bias_operand(params), output_operand(params, 0, data_view(params.outputs[0])))


tail_view = like_output(data_view)
"""What tails read beside `operands`."""
