"""Kernels of the gather room. They see data and indices by the coordinates of the output."""
from __future__ import annotations

import math
from dataclasses import dataclass

from clinfer.base.format import Format
from clinfer.base.shape import Shape
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
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
from clinfer.ops.gather.op import Lookup
from clinfer.ops.shared.choices import numbered_choice
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.view_copy import ViewCopy, raw_view, whole_bytes
from clinfer.ops.shared.views import along_axis, index_view, open_view

SHORTEST_ROW = 8
_ROW_RANK = 4


@dataclass(frozen=True)
class _Views:
    """Views of equal sizes: data (at index 0 of what is looked up), indices (the first of a place), output, and what
    fused tails read."""

    data: TensorView
    indices: TensorView
    output: TensorView
    read: tuple[TensorView, ...]

    def all(self) -> tuple[TensorView, ...]:
        return self.data, self.indices, self.output, *self.read

    def operands(self, params: KernelParams) -> tuple[Operand, ...]:
        """Data and output as elements where there are tails, else as storage units."""
        data, output = self.data, self.output
        if not params.primitive.tails:
            data, output = raw_view(data), raw_view(output)
        return input_operand(params, 0, data), input_operand(params, 1, self.indices), output_operand(params, 0, output)


def _lookup(params: KernelParams) -> Lookup | None:
    data, indices = params.inputs[:2]
    return params.primitive.lookup(data.shape, indices.shape, params.values)


def _views(params: KernelParams) -> _Views:
    data, indices, output = params.inputs[0], params.inputs[1], params.outputs[0]
    lookup = _lookup(params)
    if lookup is None:
        return _open_views(params, output.rank)
    target, *read = (TensorView.of(x).broadcast(output.shape) for x in (output, *params.tail_inputs))
    if target.rank < len(lookup.data_axes):
        batch = len(lookup.data_axes) - target.rank + 1
        target, *read = (_split_first(view, data.shape[:batch]) for view in (target, *read))
    return _Views(_along(TensorView.of(data), lookup.data_axes, target.sizes),
                  _along(TensorView.of(indices), lookup.index_axes, target.sizes), target, tuple(read))


def _open_views(params: KernelParams, rank: int) -> _Views:
    """The views while shapes or values are unknown."""
    data, indices, output, *read = (open_view(x.element_type, rank) for x in (
        *params.inputs[:2], params.outputs[0], *params.tail_inputs))
    return _Views(data, indices, output, tuple(read))


def _along(view: TensorView, axes: tuple[int | None, ...], sizes: Shape) -> TensorView:
    """The view with the given sizes, moving along `axes`, or stretched there, and not at all where that is None."""
    own = tuple(1 if a is None else view.sizes[a] for a in axes)
    pitches = tuple(1 if a is None else view.pitches[a] for a in axes)
    return TensorView(view.element_type, own, pitches, view.offset, (None,) * len(sizes)).broadcast(sizes)


def _split_first(view: TensorView, sizes: Shape) -> TensorView:
    """The view with its first axis as several of the given sizes."""
    pitches: list[Pitch] = []
    pitch = view.pitches[0]
    for size in reversed(sizes):
        pitches.insert(0, pitch)
        pitch = pitch * size if pitch is not None and isinstance(size, int) else None
    return TensorView(view.element_type, (*sizes, *view.sizes[1:]), (*pitches, *view.pitches[1:]), view.offset,
                      (None,) * (len(sizes) + view.rank - 1))


def _formats(params: KernelParams) -> Formats:
    """Inputs as they come unless they are blocked, the output planar."""
    inputs = tuple(Format.planar(x.rank) if x.format.blocks else x.format for x in params.inputs)
    return Formats(inputs, tuple(Format.planar(x.rank) for x in params.outputs))


# -- places -----------------------------------------------------------------------------------------


def _constants(params: KernelParams) -> dict[str, Constant]:
    count = params.primitive.index_count(params.inputs[1].shape)
    return {"INDEX_COUNT": count, "WRAPS_NEGATIVE": params.primitive.wraps_negative,
            "AXIS_SIZE(n)": numbered_choice("ARG_AXIS_SIZE", count),
            "AXIS_PITCH(n)": numbered_choice("ARG_AXIS_PITCH", count)}


def _arguments(params: KernelParams) -> dict[str, int]:
    """Sizes and pitches of the data axes that are looked up, and the pitch from index to index of a place."""
    count = max(params.primitive.index_count(params.inputs[1].shape), 1)
    found = {f"axis_{what}_{n}": 0 for n in range(count) for what in ("size", "pitch")} | {"tuple_pitch": 0}
    lookup = _lookup(params)
    if lookup is None or not params.is_static:
        return found
    data, indices = TensorView.of(params.inputs[0]), TensorView.of(params.inputs[1])
    for number, axis in enumerate(lookup.looked_up):
        found[f"axis_size_{number}"] = data.sizes[axis]  # type: ignore[assignment]
        found[f"axis_pitch_{number}"] = data.pitches[axis]  # type: ignore[assignment]
    if lookup.tuple_axis is not None:
        found["tuple_pitch"] = indices.pitches[lookup.tuple_axis]  # type: ignore[assignment]
    return found


# -- one element per work-item ----------------------------------------------------------------------


_REF = Stage("gather_ref.cl", "gather_ref", lambda params: local_items(params.outputs[0].count),
             lambda params: _views(params).operands(params), _constants, _arguments, bake=False,
             tail_view=lambda params, index: _views(params).read[index])


# -- contiguous rows --------------------------------------------------------------------------------


def _row_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four of which the last is contiguous in data and output and not one of the indices; tails read
    neighbours along it, or one value."""
    if not joint.axes or len(joint.axes) > _ROW_RANK or joint.axes[-1].pitches[:3] != (1, 0, 1):
        return None
    if any(pitch not in (0, 1) for pitch in joint.axes[-1].pitches[3:]):
        return None
    return (*(None,) * (_ROW_RANK - len(joint.axes)), *joint.axes)


def _rows(params: KernelParams) -> _Views | None:
    """The views merged to four axes, or None where there are no such rows."""
    views = _views(params)
    joint = join_axes(views.all(), None, 2)
    axes = None if joint is None else _row_axes(joint)
    if joint is None or axes is None:
        return None
    data, indices, output, *read = (joint.view(i, view.element_type, axes) for i, view in enumerate(views.all()))
    return _Views(data, indices, output, tuple(read))


def _rows_reason(params: KernelParams) -> str | None:
    if params.outputs[0].count == 0:
        return None
    rows = _rows(params)
    if rows is None:
        return "no axis is contiguous in data and output"
    return None if rows.output.sizes[-1] >= SHORTEST_ROW else "the contiguous rows are short"  # type: ignore[operator]


def _rows_or_open(params: KernelParams) -> _Views:
    known = _lookup(params) is not None and params.is_static and params.outputs[0].count > 0
    rows = _rows(params) if known else None
    return _open_views(params, _ROW_RANK) if rows is None else rows


def _rows_dispatch(params: KernelParams) -> Dispatch:
    rows = _rows(params)
    assert rows is not None, "refused by check_shapes"
    *outer, length = rows.output.sizes
    return Dispatch((-(-length // _span(params)), math.prod(outer)))  # type: ignore[operator, arg-type]


def _rows_constants(params: KernelParams) -> dict[str, Constant]:
    return {**_constants(params), "VEC": 16 if params.capabilities.device_type == "CPU" else 4, "SPAN": _span(params)}


def _span(params: KernelParams) -> int:
    return 256 if params.capabilities.device_type == "CPU" else 4


_ROWS = Stage("gather_rows.cl", "gather_rows", _rows_dispatch, lambda params: _rows_or_open(params).operands(params),
              _rows_constants, _arguments, bake=False,
              tail_view=lambda params, index: _rows_or_open(params).read[index])


# -- slices one behind the other --------------------------------------------------------------------


def _moves(params: KernelParams) -> tuple[Move, ...]:
    data, output = params.inputs[0], params.outputs[0]
    run = params.primitive.run(data.static_shape, params.values) if params.is_static else None
    if run is None or not output.is_dense_planar:
        return (Move(0, 0, None),)
    axis, first, number = run
    part = index_view(TensorView.of(data), along_axis(data.rank, axis, first, first + number))
    target = TensorView.dense(output.element_type, part.sizes)
    return (ViewCopy(BufferRef("input", 0), BufferRef("output", 0), part, target).move,)


KERNELS = (
    KernelSpec("gather_rows", (_ROWS,), whole_bytes, lambda params: 10.0, _formats, _rows_reason, moves=_moves),
    KernelSpec("gather_ref", (_REF,), whole_bytes, formats=_formats, moves=_moves),
)
