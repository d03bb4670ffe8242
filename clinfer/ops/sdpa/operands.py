"""What the kernels of attention take: operands under their views, constants."""
from __future__ import annotations

from collections.abc import Iterable

from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.jitter import literal
from clinfer.kernels.spec import (
    Constant,
    Formats,
    KernelParams,
    Operand,
    input_operand,
    output_operand,
    planar_formats,
    present_formats,
)
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.views import index_view

QUERY, KEY, VALUE, MASK, SCALE, SINK = range(6)


def has_input(params: KernelParams, index: int) -> bool:
    if index == MASK and params.primitive.causal:
        return False
    return index < len(params.inputs)


def scale_of(params: KernelParams) -> str:
    """The scale where no input holds it, as OpenCL C."""
    scale = params.primitive.scale
    return "rsqrt((float)INPUT0_SIZE_LAST)" if scale is None else literal(scale)


def common_constants(params: KernelParams) -> dict[str, Constant]:
    return {"IS_CAUSAL": bool(params.primitive.causal), "WITH_MASK": has_input(params, MASK),
            "MASK_IS_BOOLEAN": has_input(params, MASK) and params.inputs[MASK].element_type.name == "boolean",
            "WITH_SCALE": has_input(params, SCALE), "SCALE": scale_of(params), "WITH_SINK": has_input(params, SINK),
            "GROUPS": params.primitive.groups}


def formats_of(params: KernelParams) -> Formats:
    return planar_formats(params) if params.primitive.parts or params.primitive.result_axes else present_formats(params)


def stretched(params: KernelParams, index: int, batch: Shape, last: Shape = ()) -> TensorView:
    """What is seen of an input, with the result's batch axes and its own (or the given) last two.

    Of keys and values the last batch axis counts the heads that they have."""
    view = seen_input(params, index)
    if index in (KEY, VALUE):
        batch = shared_batch(params, batch)
    return view.broadcast((*batch, *(last or view.sizes[-2:])))


def shared_batch(params: KernelParams, batch: Shape) -> Shape:
    """The batch axes of keys and values that stretch to the result's."""
    groups = params.primitive.groups
    if groups == 1:
        return batch
    *outer, heads = batch
    assert isinstance(heads, int)
    return (*outer, heads // groups)


def batch_of(params: KernelParams) -> Shape:
    return seen_result(params).sizes[:-2]


def attention_operands(params: KernelParams, batch: Shape) -> list[Operand]:
    """Mask, scale and sink, as far as they are there."""
    queries, keys = seen_input(params, QUERY).sizes[-2], seen_input(params, KEY).sizes[-2]
    operands = []
    if has_input(params, MASK):
        operands.append(input_operand(params, MASK, stretched(params, MASK, batch, (queries, keys))))
    if has_input(params, SCALE):
        operands.append(input_operand(params, SCALE))
    if has_input(params, SINK):
        operands.append(input_operand(params, SINK, stretched(params, SINK, batch, (queries, 1))))
    return operands


def four_axes(view: TensorView) -> TensorView:
    """A view with axes of size 1 in front, so that there are four."""
    return index_view(view, (None,) * (4 - view.rank) + (slice(None),) * view.rank)


def four_extras(params: KernelParams, batch: Shape) -> list[Operand]:
    """Mask, scale and sink, as far as they are there, with four axes."""
    return [Operand(o.macro, o.buffer, o.view if o.macro == "INPUT4" else four_axes(o.view))
            for o in attention_operands(params, batch)]


def width_of(params: KernelParams) -> Size:
    """The last size of the result."""
    return seen_result(params).sizes[-1]


def in_place_operands(params: KernelParams) -> tuple[Operand, ...]:
    batch = batch_of(params)
    data = [input_operand(params, i, four_axes(stretched(params, i, batch))) for i in (QUERY, KEY, VALUE)]
    return (*data, *four_extras(params, batch), output_operand(params, 0, four_axes(seen_result(params))))


def rows_are_contiguous(params: KernelParams, inputs: Iterable[int]) -> bool:
    """Whether the last axis of what is seen of these inputs lies last in memory."""
    return all(params.primitive.part(i, params.inputs[i].rank).axes[-1] == params.inputs[i].rank - 1 for i in inputs)


def result_is_contiguous(params: KernelParams) -> bool:
    """The same of the result."""
    axes = params.primitive.result_axes
    return not axes or axes[-1] == len(axes) - 1
