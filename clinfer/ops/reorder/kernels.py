"""Kernels of the reorder room."""
from __future__ import annotations

from math import prod

from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Move,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.reorder import nibbles, tiles
from clinfer.ops.shared.copying import local_items


def _formats(params: KernelParams) -> Formats:
    return Formats((params.inputs[0].format,), (Format.of(params.primitive.format),))


def _supports(params: KernelParams) -> str | None:
    if params.outputs[0].element_type.is_packed:
        return "packed 4-bit outputs"
    return None


def _memory_order(params: KernelParams) -> tuple[int, ...]:
    """Axes from the outermost to the innermost in the output's memory; a blocked axis is innermost."""
    fmt, rank = params.outputs[0].format, params.outputs[0].rank
    blocked = tuple(axis for axis, _ in fmt.block_axes)
    return tuple(a for a in fmt.order_of(rank) if a not in blocked[-1:]) + blocked[-1:]


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    order = _memory_order(params)
    return (input_operand(params, 0, TensorView.of(params.inputs[0]).permute(order)),
            output_operand(params, 0, TensorView.of(params.outputs[0]).permute(order)))


def _tails(params: KernelParams) -> dict[str, int]:
    """Per axis of the views, the elements written: the size rounded up to whole blocks."""
    layout = params.outputs[0]
    return {f"whole_{i}": size for i, size in enumerate(_whole_sizes(params))} if layout.is_static else {
        f"whole_{i}": 0 for i in range(layout.rank)}


def _whole_sizes(params: KernelParams) -> tuple[int, ...]:
    layout = params.outputs[0]
    sizes = []
    for axis in _memory_order(params):
        block, size = layout.format.block_of(axis), layout.static_shape[axis]
        sizes.append(size if layout.padding else -(-size // block) * block)
    return tuple(sizes)


def _dispatch(params: KernelParams) -> Dispatch:
    return local_items(prod(_whole_sizes(params)))


def _arguments(params: KernelParams) -> dict[str, int]:
    count = prod(_whole_sizes(params)) if params.outputs[0].is_static else 0
    return {"count": count, **_tails(params)}


def _constants(params: KernelParams) -> dict[str, str]:
    rank = params.outputs[0].rank
    steps = [f"(c)[{i}] = r_ % ARG_WHOLE_{i}; r_ /= ARG_WHOLE_{i};" if i else "(c)[0] = r_;"
             for i in reversed(range(rank))]
    inside = [f"(c)[{i}] < OUTPUT0_SIZE_{i}" for i in range(rank)]
    return {"UNRAVEL_WHOLE(i, c)": "do { int r_ = (i); " + " ".join(steps) + " } while (0)",
            "IS_INSIDE(c)": " && ".join(inside) or "1"}


def _moves(params: KernelParams) -> tuple[Move, ...]:
    return (tiles.move(params),)


KERNELS = (
    KernelSpec("reorder_tiles", supports=tiles.why_not, score=lambda params: 10.0, formats=_formats, stages=(
        Stage("reorder_tiles.cl", "reorder_tiles", tiles.dispatch, tiles.operands, tiles.constants, tiles.arguments,
              bake=False),), moves=_moves),
    KernelSpec("reorder_ref", supports=_supports, formats=_formats, stages=(
        Stage("reorder_ref.cl", "reorder_ref", _dispatch, _operands, _constants, _arguments, bake=False),),
               moves=_moves),
    KernelSpec("reorder_nibbles", supports=nibbles.why_not, formats=_formats, stages=(
        Stage("reorder_nibbles.cl", "reorder_nibbles", nibbles.dispatch, constants=nibbles.constants,
              arguments=nibbles.arguments, bake=False),), writes_packed=True),
)
