"""Kernels of the eltwise room."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.eltwise.strides import LOOPS, strided_views

GROUP = 64
VECTOR = 16
ITEM_ELEMENTS = 2048


def _formats(params: KernelParams) -> Formats:
    """The output takes the format of the largest input; per-channel constants follow it into its blocks."""
    output = params.outputs[0]
    leader = max((x for x in params.inputs if x.rank == output.rank), key=_weight, default=None)
    chosen = leader.format if leader is not None else Format.planar(output.rank)
    return Formats(tuple(chosen if x.rank == output.rank and chosen.blocks else x.format for x in params.inputs),
                   (chosen,))


def _weight(layout: Layout) -> tuple[int, bool]:
    """How many axes are not of size 1, and whether the format is more than planar."""
    return sum(size != 1 for size in layout.shape), not layout.format.is_planar


def _supports(params: KernelParams) -> str | None:
    primitive, kinds = params.primitive, [x.element_type for x in params.inputs]
    if any(kind.is_packed for kind in kinds):
        return "packed 4-bit types"
    operands = kinds[1:] if primitive.mode == "Select" else kinds
    if any(kind != operands[0] for kind in operands):
        return "inputs of different types"
    if not (primitive.row.on_float if operands[0].is_float else primitive.row.on_int):
        return f"{primitive.mode} is not defined on {operands[0]}"
    return None


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    is_float = params.inputs[-1].element_type.is_float
    as_number = float if is_float else int
    return {"OPERATION": f"({primitive.row.on_float if is_float else primitive.row.on_int})",
            "OPERANDS": len(params.inputs), "IS_SELECT": primitive.mode == "Select",
            "IS_INTEGER_POWER": primitive.mode == "Power" and not is_float,
            **{f"P{i}": as_number(_clipped(value, is_float)) for i, value in enumerate(primitive.parameters)}}


def _clipped(value: float, is_float: bool) -> float:
    return value if is_float else max(-2.0**31, min(value, 2.0**31 - 1))


def _broadcast_operands(params: KernelParams) -> tuple[Operand, ...]:
    shape = params.outputs[0].shape
    return (*(input_operand(params, i, TensorView.of(x).broadcast(shape)) for i, x in enumerate(params.inputs)),
            output_operand(params))


def _flat_dispatch(params: KernelParams) -> Dispatch:
    return Dispatch((-(-params.outputs[0].count // GROUP) * GROUP,), (GROUP,))


# -- vectors --------------------------------------------------------------------------------------


def _supports_vectors(params: KernelParams) -> str | None:
    if params.capabilities.device_type != "CPU":
        return "made for CPUs"
    if params.primitive.mode == "Power" and not params.inputs[0].element_type.is_float:
        return "powers of integers"
    if params.primitive.mode == "Select" and params.inputs[-1].element_type.bits == 64:
        return "conditions and 64-bit values have vectors of different widths"
    return _supports(params)


def _check_vectors(params: KernelParams) -> str | None:
    views = strided_views(params)
    if views is None:
        return "more nested loops than the kernel has"
    if any(view.pitches[-1] not in (0, 1) for view in views) or views[-1].pitches[-1] != 1:
        return "the innermost axis is not contiguous"
    return None


def _strided_operands(params: KernelParams) -> tuple[Operand, ...]:
    views = strided_views(params) if params.is_static else None
    if views is None:
        layouts = (*params.inputs, params.outputs[0])
        views = [TensorView(x.element_type, (ANY,) * LOOPS, (None,) * LOOPS, None, (None,) * LOOPS) for x in layouts]
    return (*(input_operand(params, i, view) for i, view in enumerate(views[:-1])),
            output_operand(params, 0, views[-1]))


def _chunks(params: KernelParams) -> tuple[int, int]:
    """(elements of the innermost loop, steps of the loop around it) that one work-item computes."""
    views = strided_views(params)
    assert views is not None
    inner, middle = views[-1].sizes[-1], views[-1].sizes[-2]
    assert isinstance(inner, int) and isinstance(middle, int)
    chunk = min(-(-inner // VECTOR) * VECTOR, ITEM_ELEMENTS)
    return chunk, max(1, min(middle, ITEM_ELEMENTS // chunk))


def _chunk_arguments(params: KernelParams) -> dict[str, int]:
    if not params.is_static or _check_vectors(params) is not None:
        return {"chunk": 0, "steps": 0}
    chunk, steps = _chunks(params)
    return {"chunk": chunk, "steps": steps}


def _vector_dispatch(params: KernelParams) -> Dispatch:
    views = strided_views(params)
    assert views is not None
    outer, second, middle, inner = views[-1].sizes
    chunk, steps = _chunks(params)
    return Dispatch((-(-inner // chunk), -(-middle // steps), outer * second), (1, 1, 1))  # type: ignore[operator]


KERNELS = (
    KernelSpec("eltwise_vector", supports=_supports_vectors, check_shapes=_check_vectors,
               score=lambda params: 10.0, formats=_formats, stages=(
                   Stage("eltwise_vector.cl", "eltwise_vector", _vector_dispatch, _strided_operands, _constants,
                         _chunk_arguments, bake=False),)),
    KernelSpec("eltwise_ref", supports=_supports, formats=_formats, stages=(
        Stage("eltwise_ref.cl", "eltwise_ref", _flat_dispatch, _broadcast_operands, _constants, bake=False),)),
)
