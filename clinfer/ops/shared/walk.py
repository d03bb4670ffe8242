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
from math import prod
from typing import cast

from clinfer.base.layout import Layout
from clinfer.base.memo import memo
from clinfer.base.shape import Dim
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Constant, Problem, Stage, Work, input_operand, output_operand
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.views import open_view
from clinfer.symbolic.symbols import computed, larger, pure, smaller

AXES = 6
_CPU_VECTOR, _GPU_VECTOR = 16, 4
_CPU_TILE = (512, 16384)
"""Elements of a work-item on CPUs, at least and at most; enough work-items for every unit come first."""


@dataclass(frozen=True)
class Walk:
    """The tensors (the output last) under the six axes, what the kernel is told of the tiles, and its work."""

    views: tuple[TensorView, ...]
    arguments: Mapping[str, int]
    work: Work | None


def why_not(problem: Problem) -> str | None:
    """Why the layouts cannot be walked in this way for every shape that they admit, or None."""
    output = problem.outputs[0]
    blocked = [axis for axis, _ in output.format.block_axes]
    if len(blocked) != len(set(blocked)):
        return "an axis with several levels of blocks"
    read = problem.all_inputs
    if len(problem.inputs) > 1 and any(isinstance(output.shape[axis], Dim) for axis in blocked):
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


def vector(problem: Problem) -> int:
    """Elements of one vector."""
    return _CPU_VECTOR if problem.runs_on_cpu else _GPU_VECTOR


def walk_stage(problem: Problem, source: str, constants: Mapping[str, Constant], has_epilogue: bool = True) -> Stage:
    """The only stage of a kernel that walks: inputs and output under the six axes, VECTOR elements at a time."""
    walk, own = walk_of(problem), len(problem.inputs)
    operands = (*(input_operand(problem, i, view) for i, view in enumerate(walk.views[:own])),
                output_operand(problem, 0, walk.views[-1]))
    return Stage(source, operands, walk.work, {**constants, "VECTOR": vector(problem)}, walk.arguments,
                 walk.views[own:-1] if has_epilogue else None)


def walk_of(problem: Problem) -> Walk:
    """The walk of a problem; open while shapes are unknown."""
    if problem.is_static:
        return _walk(problem.all_inputs, problem.outputs[0], vector(problem), problem.capabilities.compute_units,
                     problem.runs_on_cpu)
    views = tuple(open_view(x.element_type, AXES) for x in (*problem.all_inputs, problem.outputs[0]))
    return Walk(views, dict.fromkeys(("items", "rows", "columns", "row_tiles", "column_tiles"), 0), None)


@memo(maxsize=4096)
def _walk(inputs: tuple[Layout, ...], output: Layout, width: int, units: int, on_cpu: bool) -> Walk:
    joint = _joint_axes(inputs, output)
    axes = joint.axes
    if not axes or any(pitch not in (0, 1) for pitch in axes[-1].pitches) or axes[-1].pitches[-1] != 1:
        axes = (*axes, JointAxis(1, (1,) * (len(inputs) + 1), 0))
    six = (None,) * (AXES - len(axes)) + axes
    views = tuple(joint.view(i, x.element_type, six) for i, x in enumerate((*inputs, output)))
    rows, columns = _tile(axes, output.physical_count, width, units)
    *outer, height, length = cast("tuple[int, ...]", views[-1].sizes)
    row_tiles, column_tiles = -(-height // rows), -(-length // columns)
    items = prod(outer) * row_tiles * column_tiles
    arguments = {"items": items, "rows": rows, "columns": columns, "row_tiles": row_tiles,
                 "column_tiles": column_tiles}
    return Walk(views, arguments, Work((items,)) if on_cpu else local_items(items))


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
    if width == _GPU_VECTOR:
        return 1, width
    length, above = axes[-1].size, axes[-2].size if len(axes) > 1 else 1
    return (computed(_tile_rows, length, above, total, units),
            computed(_tile_columns, length, total, width, units))


@pure
def _tile_rows(length: int, above: int, total: int, units: int) -> int:
    return smaller(larger(_tile_size(total, units) // larger(length, 1), 1), larger(above, 1))


@pure
def _tile_columns(length: int, total: int, width: int, units: int) -> int:
    return smaller(larger(length, 1), -(-_tile_size(total, units) // width) * width)


def _tile_size(total: int, units: int) -> int:
    low, high = _CPU_TILE
    return smaller(larger(total // (8 * units), low), high)
