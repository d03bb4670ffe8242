"""How kernels walk that work element by element in vectors (walk.h): all tensors along merged axes in the output's
memory order.

There are six axes, outermost first. The kernel moves along the last one in vectors, where each tensor has
pitch 1 or 0, and along the one before it in a loop; a work-item is a tile of these two. One build thus
serves equal shapes (one axis of all elements, block tails included), one value per channel in planar and
blocked formats, rows, scalars and every other broadcast.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import cast

from clinfer.base.layout import Layout
from clinfer.base.shape import Dim
from clinfer.base.symbols import memo
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Dispatch, KernelParams, Operand, input_operand, output_operand
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.memo import remember_last
from clinfer.ops.shared.views import open_view

AXES = 6
_CPU_VECTOR, _GPU_VECTOR = 16, 4
_CPU_TILE = (512, 16384)
"""Elements of a work-item on CPUs, at least and at most; enough work-items for every unit come first."""


@dataclass(frozen=True)
class Walk:
    """The tensors (the output last) under the six axes; a tile is `rows` x `columns` of the last two."""

    views: tuple[TensorView, ...]
    rows: int
    columns: int

    @cached_property
    def arguments(self) -> Mapping[str, int]:
        """What the kernel is told of the tiles."""
        *outer, height, width = cast("tuple[int, ...]", self.views[-1].sizes)
        row_tiles, column_tiles = -(-height // self.rows), -(-width // self.columns)
        return {"items": prod(outer) * row_tiles * column_tiles, "rows": self.rows, "columns": self.columns,
                "row_tiles": row_tiles, "column_tiles": column_tiles}


def why_not(params: KernelParams) -> str | None:
    """Why the layouts cannot be walked in this way for every shape that they admit, or None."""
    output = params.outputs[0]
    blocked = [axis for axis, _ in output.format.block_axes]
    if len(blocked) != len(set(blocked)):
        return "an axis with several levels of blocks"
    read = params.all_inputs
    if len(params.inputs) > 1 and any(isinstance(output.shape[axis], Dim) for axis in blocked):
        return "an axis in blocks that may be stretched"
    padded = any(x.padding for x in (*read, output))
    if output.rank + len(blocked) + padded > AXES:
        return "too many axes"
    if any(x.padding.both(axis) for x in (*read, output) if x.rank == output.rank for axis in blocked):
        return "padding of a blocked axis"
    return next((f"input {i} is blocked otherwise than the output" for i, x in enumerate(read)
                 if not _walks_beside(x, output)), None)


def _walks_beside(layout: Layout, output: Layout) -> bool:
    """Whether a tensor has the output's blocks, or does not move along blocked axes."""
    blocked = [axis for axis, _ in output.format.block_axes]
    if layout.format.blocks:
        return layout.format == output.format and layout.rank == output.rank and all(
            layout.shape[axis] == output.shape[axis] for axis in blocked)
    missing = output.rank - layout.rank
    return all(axis < missing or layout.shape[axis - missing] == 1 for axis in blocked)


def vector(params: KernelParams) -> int:
    """Elements of one vector."""
    return _CPU_VECTOR if params.capabilities.device_type == "CPU" else _GPU_VECTOR


@remember_last
def walk_of(params: KernelParams) -> Walk:
    """The walk of static layouts."""
    return _walk(params.all_inputs, params.outputs[0], vector(params), params.capabilities.compute_units)


@memo(maxsize=4096)
def _walk(inputs: tuple[Layout, ...], output: Layout, width: int, units: int) -> Walk:
    joint = _joint_axes(inputs, output)
    axes = joint.axes
    if not axes or any(pitch not in (0, 1) for pitch in axes[-1].pitches) or axes[-1].pitches[-1] != 1:
        axes = (*axes, JointAxis(1, (1,) * (len(inputs) + 1), 0))
    six = (None,) * (AXES - len(axes)) + axes
    views = tuple(joint.view(i, x.element_type, six) for i, x in enumerate((*inputs, output)))
    return Walk(views, *_tile(axes, output.physical_count, width, units))


def _joint_axes(inputs: tuple[Layout, ...], output: Layout) -> JointAxes:
    tensors = (*inputs, output)
    if all(x.shape == output.shape and x.format == output.format and not x.padding for x in tensors):
        return JointAxes((JointAxis(output.physical_count, (1,) * len(tensors), 0),), (0,) * len(tensors))
    joint = join_axes(tuple(_at_rest(TensorView.of(x).broadcast(output.shape)) for x in tensors),
                      leader=len(inputs))
    assert joint is not None
    return joint


def _at_rest(view: TensorView) -> TensorView:
    """The view with pitch 0 on unblocked axes of size 1, along which nothing moves."""
    pitches = tuple(0 if size == 1 and blocks is None else pitch
                    for size, pitch, blocks in zip(view.sizes, view.pitches, view.blocks, strict=True))
    return replace(view, pitches=pitches)


def _tile(axes: tuple[JointAxis, ...], total: int, width: int, units: int) -> tuple[int, int]:
    """Rows and columns of a tile: whole vectors of a row, or several whole rows."""
    length = axes[-1].size
    if width == _GPU_VECTOR:
        return 1, width
    low, high = _CPU_TILE
    wanted = min(max(total // (8 * units), low), high)
    if length > wanted:
        return 1, -(-wanted // width) * width
    return min(max(wanted // max(length, 1), 1), max(axes[-2].size, 1) if len(axes) > 1 else 1), max(length, 1)


def operands(params: KernelParams) -> tuple[Operand, ...]:
    """Inputs and output under the six axes."""
    views = _views(params)
    inputs = tuple(input_operand(params, i, views[i]) for i in range(len(params.inputs)))
    return (*inputs, output_operand(params, 0, views[-1]))


def tail_view(params: KernelParams, index: int) -> TensorView:
    """What tails read under the six axes."""
    return _views(params)[len(params.inputs) + index]


def _views(params: KernelParams) -> tuple[TensorView, ...]:
    """Every tensor, the output last, under the six axes; open views while shapes are unknown."""
    if params.is_static:
        return walk_of(params).views
    return tuple(open_view(x.element_type, AXES) for x in (*params.all_inputs, params.outputs[0]))


def arguments(params: KernelParams) -> Mapping[str, int]:
    """The tiles."""
    if params.is_static:
        return walk_of(params).arguments
    return dict.fromkeys(("items", "rows", "columns", "row_tiles", "column_tiles"), 0)


def dispatch(params: KernelParams) -> Dispatch:
    """One work-item per tile."""
    items = walk_of(params).arguments["items"]
    return Dispatch((items,)) if params.capabilities.device_type == "CPU" else local_items(items)
