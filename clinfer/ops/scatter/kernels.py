"""Kernels of the scatter room. They see indices and updates by the coordinates of the output and of a walk."""
from __future__ import annotations

import math
from collections.abc import Sequence

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import Pitch, TensorView
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
    scratch_operand,
)
from clinfer.ops.scatter.op import Places
from clinfer.ops.shared.choices import numbered_choice
from clinfer.ops.shared.copying import local_items, span_constants, span_dispatch
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.view_copy import PACKAGE, raw_view
from clinfer.ops.shared.views import at_least_one_axis, open_view

_SLOT = ElementType.of("i32")

# How two updates of one element combine, for floats and for integers.
_COMBINE = {"none": ("b", "b"), "sum": ("(a) + (b)",) * 2, "mean": ("(a) + (b)",) * 2, "prod": ("(a) * (b)",) * 2,
            "min": ("fmin(a, b)", "min(a, b)"), "max": ("fmax(a, b)", "max(a, b)")}


def _formats(params: KernelParams) -> Formats:
    """Data and output in the data's format; the rest as it comes unless it is blocked."""
    data, *others = params.inputs
    plain = tuple(Format.planar(x.rank) if x.format.blocks else x.format for x in others)
    return Formats((data.format, *plain), (data.format,))


def _places(params: KernelParams) -> Places | None:
    return params.primitive.places(_shapes(params), params.values)


def _shapes(params: KernelParams) -> tuple[Shape, ...]:
    return tuple(layout.shape for layout in params.inputs)


def _index_count(params: KernelParams) -> int:
    return int(params.primitive.index_count(_shapes(params)))


def _walked_rank(params: KernelParams) -> int:
    return max(int(params.primitive.walked_rank(params.inputs[1].shape)), 1)


def _joint_rank(params: KernelParams) -> int:
    return params.inputs[0].rank + _walked_rank(params)


def _joint(view: TensorView, axes: Sequence[int | None], walked: Sequence[int], still: Sequence[Size]) -> TensorView:
    """The view with the axes of the output, then those walked (one at least).

    Where an axis of the output does not move it, the view has the size in `still` and pitch 0.
    """
    sizes: list[Size] = [view.sizes[a] if a is not None else size for a, size in zip(axes, still, strict=True)]
    pitches: list[Pitch] = [view.pitches[a] if a is not None else 1 if size == 1 else 0
                            for a, size in zip(axes, still, strict=True)]
    sizes += [view.sizes[a] for a in walked] or [1]
    pitches += [view.pitches[a] for a in walked] or [1]
    return TensorView(view.element_type, tuple(sizes), tuple(pitches), view.offset, (None,) * len(sizes))


def _index_view(params: KernelParams, marking: bool = False) -> TensorView:
    """The indices under the joint axes; for `marking`, each index once."""
    layout, places = params.inputs[1], _places(params)
    if places is None:
        return open_view(layout.element_type, _joint_rank(params))
    still = (1,) * params.inputs[0].rank if marking else params.outputs[0].shape
    return _joint(TensorView.of(layout), places.index_axes, places.walked_indices, still)


def _update_view(params: KernelParams, as_rows: bool = False) -> TensorView:
    """The updates under the joint axes; `as_rows`: with size 1 where an axis of the output does not move them."""
    layout, places = params.inputs[2], _places(params)
    if places is None:
        return open_view(layout.element_type, _joint_rank(params))
    still = (1,) * params.inputs[0].rank if as_rows else params.outputs[0].shape
    return _joint(TensorView.of(layout), places.update_axes, places.walked_updates, still)


# -- what the kernels know of places ----------------------------------------------------------------


def _constants(params: KernelParams) -> dict[str, Constant]:
    rank, count = params.inputs[0].rank, max(_index_count(params), 1)
    return {"JOINT_RANK": _joint_rank(params), "INDEX_COUNT": _index_count(params),
            "UNRAVEL_WALKED(m, c)": _unravel("m", "INPUT1", range(rank, _joint_rank(params))),
            "IS_INSIDE(c)": _all_below("INPUT1", rank), "IS_WITHIN(c)": _all_below("SCRATCH0", rank),
            "AXIS(n)": numbered_choice("ARG_AXIS", count), "AXIS_SIZE(n)": numbered_choice("ARG_AXIS_SIZE", count)}


def _unravel(number: str, operand: str, axes: range) -> str:
    steps = [f"(c)[{axis}] = n_ % {operand}_SIZE_{axis}; n_ /= {operand}_SIZE_{axis};" for axis in reversed(axes)]
    return f"do {{ int n_ = ({number}); {' '.join(steps)} }} while (0)"


def _all_below(operand: str, rank: int) -> str:
    return "(" + " && ".join([f"(c)[{a}] < {operand}_SIZE_{a}" for a in range(rank)] or ["true"]) + ")"


def _arguments(params: KernelParams) -> dict[str, int]:
    """The axes looked up and their sizes, the pitch from index to index of a place, the length of the walk."""
    count = max(_index_count(params), 1)
    found = {f"{what}_{n}": 0 for n in range(count) for what in ("axis", "axis_size")}
    found |= {"tuple_pitch": 0, "walked": 0}
    places = _places(params)
    if places is None or not params.is_static:
        return found
    for number, axis in enumerate(places.looked_up):
        found[f"axis_{number}"] = axis
        found[f"axis_size_{number}"] = params.outputs[0].static_shape[axis]
    if places.tuple_axis is not None:
        found["tuple_pitch"] = TensorView.of(params.inputs[1]).pitches[places.tuple_axis]  # type: ignore[assignment]
    found["walked"] = math.prod(params.inputs[1].static_shape[a] for a in places.walked_indices)
    return found


# -- one element per work-item ----------------------------------------------------------------------


def _ref_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0), input_operand(params, 1, _index_view(params)),
            input_operand(params, 2, _update_view(params)), output_operand(params, 0))


def _ref_constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    mean = "((count) ? (sum) / (count) : (sum))"
    return {**_constants(params), "USES_INITIAL": primitive.uses_initial, "COMBINE(a, b)": _combine(params),
            "FINISH(sum, count)": mean if primitive.combination == "mean" else "(sum)"}


def _combine(params: KernelParams) -> str:
    for_floats, for_integers = _COMBINE[params.primitive.combination]
    return f"({for_floats if params.inputs[0].element_type.is_float else for_integers})"


def _each_output(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[0].count)


# -- claims -----------------------------------------------------------------------------------------


def _slot_view(params: KernelParams) -> TensorView:
    """The slots by the coordinates of the output: dense over the axes that distinguish places."""
    places, sizes = _places(params), params.outputs[0].shape
    if places is None:
        return open_view(_SLOT, len(sizes))
    kept = [index is not None or axis in places.looked_up for axis, index in enumerate(places.index_axes)]
    dense = TensorView.dense(_SLOT, tuple(size if keep else 1 for size, keep in zip(sizes, kept, strict=True)))
    pitches = tuple(pitch if keep or size == 1 else 0
                    for pitch, keep, size in zip(dense.pitches, kept, sizes, strict=True))
    return TensorView(_SLOT, sizes, pitches, 0, (None,) * len(sizes))


def _slot_count(params: KernelParams) -> int:
    """How many slots there are; a guess while the axis is unknown."""
    view = _slot_view(params)
    if _places(params) is None:
        return params.outputs[0].count
    return math.prod(size for size, pitch in zip(view.sizes, view.pitches, strict=True)  # type: ignore[misc]
                     if pitch != 0)


def _slots(params: KernelParams) -> Operand:
    return scratch_operand(0, _slot_view(params))


def _clear_arguments(params: KernelParams) -> dict[str, int]:
    known = params.is_static and _places(params) is not None
    return {"slots": _slot_count(params) if known else 0}


def _each_index(params: KernelParams) -> Dispatch:
    return local_items(math.prod(_index_view(params, marking=True).sizes))  # type: ignore[arg-type]


def _write_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, raw_view(TensorView.of(params.inputs[0]))),
            input_operand(params, 2, raw_view(_update_view(params))), _slots(params),
            output_operand(params, 0, raw_view(TensorView.of(params.outputs[0]))))


def _write_constants(params: KernelParams) -> dict[str, Constant]:
    walked = range(params.inputs[0].rank, _joint_rank(params))
    return {"JOINT_RANK": _joint_rank(params), "UNRAVEL_WALKED(m, c)": _unravel("m", "INPUT2", walked)}


def _replaces(params: KernelParams) -> str | None:
    return None if params.primitive.combination == "none" else "made for updates that replace each other"


_CLAIMS = (
    Stage("scatter_clear.cl", "scatter_clear", lambda params: local_items(_slot_count(params)),
          lambda params: (_slots(params),), arguments=_clear_arguments, bake=False),
    Stage("scatter_mark.cl", "scatter_mark", _each_index,
          lambda params: (input_operand(params, 1, _index_view(params, marking=True)), _slots(params)),
          _constants, _arguments, bake=False),
    Stage("scatter_write.cl", "scatter_write", _each_output, _write_operands, _write_constants, bake=False),
)


# -- rows of updates --------------------------------------------------------------------------------


def _combines_in_place(params: KernelParams) -> str | None:
    primitive, kind = params.primitive, params.inputs[0].element_type
    if primitive.combination in ("none", "mean") or not primitive.uses_initial:
        return "made for updates that combine with the data"
    if kind.cl_storage != kind.cl_compute:
        return f"{kind} is too narrow to combine in place"
    return cpu_only(params)


def _copy_operands(params: KernelParams) -> tuple[Operand, ...]:
    source, target = (at_least_one_axis(raw_view(TensorView.of(x))) for x in (params.inputs[0], params.outputs[0]))
    return input_operand(params, 0, source), output_operand(params, 0, target)


def _row_operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 1, _index_view(params)), input_operand(params, 2, _update_view(params, as_rows=True)),
            output_operand(params, 0))


def _row_constants(params: KernelParams) -> dict[str, Constant]:
    rank = params.inputs[0].rank
    return {**_constants(params), "COMBINE(a, b)": _combine(params),
            "UNRAVEL_ROW(i, c)": _unravel("i", "INPUT2", range(rank)),
            "IS_WITHIN_OUTPUT(c)": _all_below("OUTPUT0", rank)}


def _row_count(params: KernelParams) -> int:
    sizes = _update_view(params, as_rows=True).sizes[:params.inputs[0].rank]
    return math.prod(sizes)  # type: ignore[arg-type]


def _row_arguments(params: KernelParams) -> dict[str, int]:
    known = params.is_static and _places(params) is not None
    return {**_arguments(params), "rows": _row_count(params) if known else 0}


_ROWS = (
    Stage("copy_ref.cl", "copy_ref", lambda params: span_dispatch(params, params.outputs[0].static_shape or (1,)),
          _copy_operands, span_constants, bake=False, package=PACKAGE),
    Stage("scatter_rows.cl", "scatter_rows", lambda params: local_items(_row_count(params)), _row_operands,
          _row_constants, _row_arguments, bake=False),
)

KERNELS = (
    KernelSpec("scatter_claims", _CLAIMS, _replaces, lambda params: 10.0, _formats,
               scratch=lambda params: (_slot_count(params) * 4,)),
    KernelSpec("scatter_rows", _ROWS, _combines_in_place, lambda params: 10.0, _formats),
    KernelSpec("scatter_ref", (Stage("scatter_ref.cl", "scatter_ref", _each_output, _ref_operands, _ref_constants,
                                     _arguments, bake=False),), formats=_formats),
)
