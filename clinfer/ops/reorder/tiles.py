"""How the tile kernel walks: input and output along axes that are cut at the blocks of both.

The walk ends with two axes: the run, along which the input is contiguous, and the lane, along which the
output is. Where one axis is both, it is the lane, and the run is the axis around it. A work-item moves a
tile of run and lane. A blocked axis is cut into one over blocks and one within them; its size is a *limit*
for the coordinate that both make up: behind it there is nothing to read, and block tails of the output are
filled with zeros.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.layout import Layout
from clinfer.base.shape import Size
from clinfer.base.symbols import memo
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, Dispatch, KernelParams, Move, Operand, input_operand, output_operand
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.memo import remember_last
from clinfer.ops.shared.view_copy import run_of, storage_type
from clinfer.ops.shared.views import open_view

LIMITS = 2
LARGEST_RANK = 10
TILE = 16
_IN, _OUT, _FIRST_LIMIT = 0, 1, 2
_CPU_SPAN = 512
"""Elements that a work-item copies where the lane is contiguous on both sides."""


@dataclass(frozen=True)
class Walk:
    """The joint axes of input, output and limits: outer ones, the run, the lane; and the tile's sizes."""

    joint: JointAxes
    axes: tuple[JointAxis | None, ...]
    runs: int
    lanes: int

    @property
    def items(self) -> int:
        """Work-items."""
        sizes = [axis.size if axis else 1 for axis in self.axes]
        count = -(-sizes[-2] // self.runs) * -(-sizes[-1] // self.lanes)
        for size in sizes[:-2]:
            count *= size
        return count


def why_not(params: KernelParams) -> str | None:
    """Why the kernel cannot move between these layouts, whatever the shape, or None."""
    source, target = params.inputs[0], params.outputs[0]
    if source.element_type != target.element_type or target.element_type.is_packed:
        return "another element type, or two elements share a byte"
    blocks = _blocks(source, target)
    if blocks is None:
        return "an axis is blocked differently"
    if any(layout.padding.both(axis) for layout in (source, target) for axis in blocks):
        return "padding of a blocked axis"
    return None if rank_of(params) <= LARGEST_RANK else "too many axes"


def _blocks(source: Layout, target: Layout) -> dict[int, int] | None:
    """The block of every axis that is blocked in either layout; None if they differ or are nested."""
    found: dict[int, int] = {}
    for layout in (source, target):
        axes = [axis for axis, _ in layout.format.block_axes]
        if len(axes) != len(set(axes)):
            return None
        for axis, size in layout.format.block_axes:
            if found.setdefault(axis, size) != size:
                return None
    return found if len(found) <= LIMITS else None


def rank_of(params: KernelParams) -> int:
    """The axes that the kernel has: all but one as outer ones, the run and the lane."""
    blocks = _blocks(params.inputs[0], params.outputs[0])
    assert blocks is not None
    return max(params.outputs[0].rank + len(blocks), 1) + 1


@remember_last
def walk_of(params: KernelParams) -> Walk:
    """The walk between static layouts."""
    return _walk(params.inputs[0], params.outputs[0], rank_of(params), params.capabilities.device_type == "CPU")


@memo(maxsize=1024)
def _walk(source: Layout, target: Layout, rank: int, on_cpu: bool) -> Walk:
    joint = join_axes(_cut_views(source, target), None, _OUT)
    assert joint is not None
    axes: list[JointAxis | None] = list(joint.axes) or [None]
    lane = axes.pop()
    run = min((axis for axis in axes if axis), key=lambda axis: axis.pitches[_IN], default=None)
    runs, lanes = TILE, TILE
    if lane is None or run is None or lane.pitches[_IN] <= run.pitches[_IN]:
        run = next((axis for axis in reversed(axes) if axis and lane and not _share_limit(axis, lane)), None)
        runs, lanes = max(_CPU_SPAN // max(lane.size if lane else 1, 1), 1), _CPU_SPAN
    others = [axis for axis in axes if axis is not run]
    outer = (None,) * (rank - 2 - len(others)) + tuple(others)
    return Walk(joint, (*outer, run, lane), *((runs, lanes) if on_cpu else (1, 1)))


def _share_limit(one: JointAxis, other: JointAxis) -> bool:
    """Whether both axes add to the coordinate of one limit, of which a tile has at most one."""
    return any(a and b for a, b in zip(one.pitches[_FIRST_LIMIT:], other.pitches[_FIRST_LIMIT:], strict=True))


def _cut_views(source: Layout, target: Layout) -> tuple[TensorView, ...]:
    """Input, output and limits under the cut axes; a limit's pitch is what a step adds to its coordinate."""
    blocks = _blocks(source, target)
    assert blocks is not None
    views = [TensorView.of(layout) for layout in (source, target)]
    sizes: list[Size] = []
    pitches: list[list[int]] = [[] for _ in range(_FIRST_LIMIT + LIMITS)]
    for axis, size in enumerate(target.static_shape):
        limit = list(blocks).index(axis) if axis in blocks else None
        for part in ("outer", "inner") if limit is not None else ("whole",):
            block = blocks.get(axis, 1)
            sizes.append(size if part == "whole" else block if part == "inner" else -(-size // block))
            for number, view in enumerate(views):
                pitches[number].append(_pitch(view, axis, block, part))
            for number in range(LIMITS):
                step = block if part == "outer" else 1
                pitches[_FIRST_LIMIT + number].append(step if number == limit else 0)
    offsets = (views[0].offset, views[1].offset, 0, 0)
    return tuple(TensorView(target.element_type, tuple(sizes), tuple(p), o, (None,) * len(sizes))
                 for p, o in zip(pitches, offsets, strict=True))


def _pitch(view: TensorView, axis: int, block: int, part: str) -> int:
    pitch, blocks = view.pitches[axis], view.blocks[axis]
    assert pitch is not None
    if blocks is None:
        return pitch * block if part == "outer" else pitch
    return pitch if part == "outer" else blocks.levels[0][1]


def operands(params: KernelParams) -> tuple[Operand, ...]:
    """Input and output under the walk's axes, as unsigned integers of the elements' size."""
    kind, rank = storage_type(params.outputs[0].element_type), rank_of(params)
    views = _views(params, kind) if params.is_static else (open_view(kind, rank), open_view(kind, rank))
    return input_operand(params, 0, views[0]), output_operand(params, 0, views[1])


def _views(params: KernelParams, kind: ElementType) -> tuple[TensorView, TensorView]:
    walk = walk_of(params)
    return walk.joint.view(_IN, kind, walk.axes), walk.joint.view(_OUT, kind, walk.axes)


def constants(params: KernelParams) -> Mapping[str, Constant]:
    """The number of axes, and whether the output's tails at each limit are filled."""
    blocks = _blocks(params.inputs[0], params.outputs[0])
    assert blocks is not None
    filled = [params.outputs[0].format.block_of(axis) > 1 for axis in blocks]
    filled += [False] * (LIMITS - len(filled))
    outer = rank_of(params) - 2
    return {"OUTER_AXES(step)": " ".join(f"step({axis})" for axis in reversed(range(outer))),
            "RUN": outer, "LANE": outer + 1, "TILE": TILE if params.capabilities.device_type == "CPU" else 1,
            **{f"FILLS_{number}": fills for number, fills in enumerate(filled)}}


def arguments(params: KernelParams) -> Mapping[str, int]:
    """Tiles, and per limit its size and what a step along each axis adds to its coordinate."""
    walk = walk_of(params) if params.is_static else None
    blocks = _blocks(params.inputs[0], params.outputs[0])
    assert blocks is not None
    values = {"items": walk.items if walk else 0, "runs": walk.runs if walk else 0, "lanes": walk.lanes if walk else 0}
    for number, axis in enumerate(blocks):
        values[f"bound_{number}"] = params.outputs[0].static_shape[axis] if walk else 0
        for position in range(rank_of(params)):
            found = walk.axes[position] if walk else None
            values[f"limit_{number}_{position}"] = found.pitches[_FIRST_LIMIT + number] if found else 0
    return values


def move(params: KernelParams) -> Move:
    """What the reorder moves: one run of bytes where both layouts hold the same elements in the same order."""
    source, target = params.inputs[0], params.outputs[0]
    if not params.is_static or why_not(params) is not None or source.physical_count != target.physical_count:
        return Move(0, 0, None)
    joint = join_axes(_cut_views(source, target)[:_FIRST_LIMIT], None, _OUT)
    assert joint is not None
    return Move(0, 0, run_of(joint, target.element_type))


def dispatch(params: KernelParams) -> Dispatch:
    """One work-item per tile."""
    items = walk_of(params).items
    return Dispatch((items,)) if params.capabilities.device_type == "CPU" else local_items(items)
