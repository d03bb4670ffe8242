"""What the convolution kernels know of a primitive: views with three spatial axes, steps and pads."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand, input_operand, output_operand
from clinfer.kernels.tails import like_output
from clinfer.ops.shared.bias import bias_constants, bias_operand
from clinfer.ops.shared.spatial import axis_arguments, count, data_view, dilations, filter_sizes, per_axis, strides


def group_shape(params: KernelParams) -> tuple[int, int, int]:
    """(groups, output channels of one, input channels of one); the weights must be static."""
    shape = params.inputs[1].static_shape
    return (shape[0], shape[1], shape[2]) if params.primitive.is_grouped else (1, shape[0], shape[1])


def pads(params: KernelParams) -> tuple[int, int, int]:
    """Elements before the data along z, y, x; layouts must be static."""
    rank = params.inputs[0].rank - 2
    data, weights = params.inputs[0].static_shape[-rank:], params.inputs[1].static_shape[-rank:]
    before = tuple(params.primitive.pads(axis, data[axis], weights[axis])[0] for axis in range(rank))
    return per_axis(before, 0)


def step_arguments(params: KernelParams) -> dict[str, int]:
    """Strides, dilations and pads as kernel arguments (pads are 0 while the layouts are dynamic)."""
    return axis_arguments(stride=strides(params), dilation=dilations(params),
                          pad=pads(params) if params.is_static else (0, 0, 0))


def is_pointwise(params: KernelParams) -> bool:
    """Whether every output pixel depends on the one input pixel at the same place, in unpadded memory."""
    primitive = params.primitive
    no_pads = primitive.auto_pad != "explicit" or not any(primitive.pads_begin + primitive.pads_end)
    return (no_pads and set(primitive.strides) == {1} and set(filter_sizes(params)) == {1}
            and not params.inputs[0].padding and not params.outputs[0].padding
            and all(_is_flat(x, params.outputs[0]) for x in params.tail_inputs))


def _is_flat(tail: Layout, output: Layout) -> bool:
    """Whether a tail input is stretched along all spatial axes or along none."""
    stretched = {size == 1 for size, whole in zip(tail.shape[2:], output.shape[2:], strict=True) if whole != 1}
    return len(stretched) <= 1


def output_pixels(params: KernelParams) -> Size:
    """Output pixels that stand in one row of `flat_operands`."""
    spatial = params.outputs[0].shape[2:]
    return count(spatial) if is_pointwise(params) else spatial[-1]


def flat_view(layout: Layout) -> TensorView:
    """Data or output as [B, C, 1, 1, pixels]; the layout must not be padded."""
    formats = {"b_fs_zyx_fsv16": Format.of("b_fs_yx_fsv16"), "bfzyx": Format.of("bfyx")}
    shape = (*layout.shape[:2], count(layout.shape[2:]))
    return data_view(Layout(shape, layout.element_type, formats.get(layout.format.name, layout.format)))


def weights_view(params: KernelParams) -> TensorView:
    """The weights as [G, O, I, Z, Y, X]."""
    view = TensorView.of(params.inputs[1])
    if not params.primitive.is_grouped:
        view = view.insert_axes((0,), pitch=1)
    return view.insert_axes(tuple(range(3, 9 - view.rank)), pitch=1)


def operands(params: KernelParams) -> tuple[Operand, ...]:
    """Data, weights, bias and factor if there are such, output; with all their spatial axes."""
    return _operands(params, data_view(params.inputs[0]), data_view(params.outputs[0]))


def flat_operands(params: KernelParams) -> tuple[Operand, ...]:
    """The same operands; the pixels of a pointwise convolution stand in one row."""
    if not is_pointwise(params):
        return operands(params)
    return _operands(params, flat_view(params.inputs[0]), flat_view(params.outputs[0]))


tail_view = like_output(data_view)
"""What tails read beside `operands`."""


def flat_tail_view(params: KernelParams, index: int) -> TensorView:
    """What tails read beside `flat_operands`."""
    return (_flat_tail_view if is_pointwise(params) else tail_view)(params, index)


_flat_tail_view = like_output(flat_view)


def _operands(params: KernelParams, data: TensorView, output: TensorView) -> tuple[Operand, ...]:
    return (input_operand(params, 0, data), input_operand(params, 1, weights_view(params)), *bias_operand(params),
            *_factor_operand(params), output_operand(params, 0, output))


def _factor_operand(params: KernelParams) -> tuple[Operand, ...]:
    """FACTOR, if there is one; it stands still along the batch where it has one for all."""
    index = params.primitive.factor_input
    if index is None:
        return ()
    view = data_view(params.inputs[index])
    return (Operand("FACTOR", BufferRef("input", index), view.broadcast((params.inputs[0].shape[0], *view.sizes[1:]))),)


def extra_constants(params: KernelParams) -> dict[str, int]:
    """Whether there are a bias and a factor."""
    return {**bias_constants(params), "HAS_FACTOR": int(params.primitive.factor_input is not None)}
