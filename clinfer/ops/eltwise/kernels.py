"""Kernels of the eltwise room."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Dim, Shape
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
from clinfer.kernels.tails import like_output
from clinfer.ops.eltwise.modes import whole_number
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


def broadcast_formats(params: KernelParams) -> Formats:
    """The output takes the format of the largest input, and the others follow it; not where an axis that it blocks
    may turn out to be stretched."""
    output = params.outputs[0]
    leader = max((x for x in params.inputs if x.rank == output.rank), key=_weight, default=None)
    chosen = leader.format if leader is not None else Format.planar(output.rank)
    if len(params.inputs) > 1 and any(isinstance(output.shape[axis], Dim) for axis, _ in chosen.block_axes):
        chosen = Format.planar(output.rank)
    return Formats(tuple(_format_beside(chosen, x, output) for x in params.inputs), (chosen,))


def _format_beside(chosen: Format, layout: Layout, output: Layout) -> Format:
    """The chosen format, or planar for a tensor of lower rank or one that a blocked axis stretches."""
    follows = layout.rank == output.rank and all(layout.shape[axis] == output.shape[axis]
                                                 for axis, _ in chosen.block_axes)
    return chosen if follows else Format.planar(layout.rank)


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
    primitive, kind = params.primitive, params.inputs[-1].element_type
    return {"OPERATION": f"({primitive.row.on_float if kind.is_float else primitive.row.on_int})",
            "OPERANDS": len(params.inputs), "IS_SELECT": primitive.mode == "Select",
            **{f"P{i}": _parameter(kind, i, value) for i, value in enumerate(primitive.parameters)}}


def _parameter(kind: ElementType, index: int, value: float) -> Constant:
    """A parameter as the kernel's text; bounds of integers are rounded into the interval and clipped."""
    if kind.is_float:
        return float(value)
    whole = whole_number(value, kind.numpy, rounds_up=index == 0)
    return f"({whole + 1} - 1)" if whole == -2**63 else f"{whole}{'UL' if kind.name == 'u64' else 'L'}"


# -- one element per work-item ------------------------------------------------------------------------


def _broadcast_operands(params: KernelParams) -> tuple[Operand, ...]:
    shape = params.outputs[0].shape
    return (*(input_operand(params, i, stretched(TensorView.of(x), shape)) for i, x in enumerate(params.inputs)),
            output_operand(params))


def stretched(view: TensorView, shape: Shape) -> TensorView:
    """The view broadcast to `shape`; axes that it lacks look like any other, so that ranks share a build."""
    return view.insert_axes(tuple(range(len(shape) - view.rank)), pitch=1).broadcast(shape)


def _flat_dispatch(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


# -- vectors ------------------------------------------------------------------------------------------


def _supports_vectors(params: KernelParams) -> str | None:
    if params.primitive.row.int_singly and not params.inputs[-1].element_type.is_float:
        return f"{params.primitive.mode} of integers is computed one by one"
    if params.primitive.mode == "Select" and params.inputs[-1].element_type.bits == 64:
        return "conditions and 64-bit values have vectors of different widths"
    return _supports(params) or walk.why_not(params)


def _vector_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "VECTOR": walk.vector(params)}


KERNELS = (
    KernelSpec("eltwise_vector", supports=_supports_vectors, score=lambda params: 10.0, formats=broadcast_formats,
               stages=(Stage("eltwise_vector.cl", "eltwise_vector", walk.dispatch, walk.operands, _vector_constants,
                             walk.arguments, bake=False, tail_view=walk.tail_view),)),
    KernelSpec("eltwise_ref", supports=_supports, formats=broadcast_formats, stages=(
        Stage("eltwise_ref.cl", "eltwise_ref", _flat_dispatch, _broadcast_operands, _constants, bake=False,
              tail_view=like_output(TensorView.of)),)),
)
