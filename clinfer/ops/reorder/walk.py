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
from math import prod

from clinfer.base.layout import Layout
from clinfer.base.memo import memo
from clinfer.base.shape import Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Work
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.joint_axes import JointAxis, join_axes
from clinfer.ops.shared.view_copy import run_of, storage_type
from clinfer.ops.shared.views import open_view

LIMITS = 2
TILE = 16
_IN, _OUT, _FIRST_LIMIT = 0, 1, 2
_CPU_SPAN = 512
"""Elements that a work-item copies where the lane is contiguous on both sides."""


@dataclass(frozen=True)
class Walk:
    """Input and output, in storage units, under the walk's axes: outer ones, the run, the lane; the tiles, each
    limit and what a step along each axis adds to its coordinate; and one work-item per tile."""

    source: TensorView
    target: TensorView
    arguments: Mapping[str, int]
    work: Work | None


def blocks_between(source: Layout, target: Layout) -> dict[int, int] | None:
    """The block of every axis that is blocked in either layout; None if they differ, are nested or too many."""
    found: dict[int, int] = {}
    for layout in (source, target):
        axes = [axis for axis, _ in layout.format.block_axes]
        if len(axes) != len(set(axes)):
            return None
        for axis, size in layout.format.block_axes:
            if found.setdefault(axis, size) != size:
                return None
    return found if len(found) <= LIMITS else None


def rank_between(target: Layout, blocks: Mapping[int, int]) -> int:
    """The number of the walk's axes: all but one as outer ones, the run and the lane."""
    return max(target.rank + len(blocks), 1) + 1


def walk_between(source: Layout, target: Layout, blocks: Mapping[int, int], on_cpu: bool) -> Walk:
    """The walk between two layouts; open while they are."""
    if source.is_static and target.is_static:
        return _walk(source, target, tuple(blocks.items()), on_cpu)
    rank = rank_between(target, blocks)
    unknown = open_view(storage_type(target.element_type), rank)
    return Walk(unknown, unknown, _arguments(0, 0, 0, dict.fromkeys(blocks, 0), (None,) * rank), None)


def run_between(source: Layout, target: Layout, blocks: Mapping[int, int]) -> tuple[int, int, int] | None:
    """The run of a `Move` between static layouts, where both hold the same elements in the same order."""
    if source.physical_count != target.physical_count:
        return None
    joint = join_axes(_cut_views(source, target, blocks)[:_FIRST_LIMIT], None, _OUT)
    assert joint is not None
    return run_of(joint, target.element_type)


@memo(maxsize=1024)
def _walk(source: Layout, target: Layout, block_items: tuple[tuple[int, int], ...], on_cpu: bool) -> Walk:
    blocks = dict(block_items)
    joint = join_axes(_cut_views(source, target, blocks), None, _OUT)
    assert joint is not None
    others: list[JointAxis | None] = list(joint.axes) or [None]
    lane = others.pop()
    run = min((axis for axis in others if axis), key=lambda axis: axis.pitches[_IN], default=None)
    runs, lanes = TILE, TILE
    if lane is None or run is None or lane.pitches[_IN] <= run.pitches[_IN]:
        run = next((axis for axis in reversed(others) if axis and lane and not _share_limit(axis, lane)), None)
        runs, lanes = max(_CPU_SPAN // max(lane.size if lane else 1, 1), 1), _CPU_SPAN
    if not on_cpu:
        runs, lanes = 1, 1
    outer = tuple(axis for axis in others if axis is not run)
    axes = (*(None,) * (rank_between(target, blocks) - 2 - len(outer)), *outer, run, lane)
    *sizes, height, length = (axis.size if axis else 1 for axis in axes)
    items = prod(sizes, start=-(-height // runs) * -(-length // lanes))
    kind = storage_type(target.element_type)
    bounds = {axis: target.static_shape[axis] for axis in blocks}
    return Walk(joint.view(_IN, kind, axes), joint.view(_OUT, kind, axes), _arguments(items, runs, lanes, bounds, axes),
                Work((items,)) if on_cpu else local_items(items))


def _arguments(items: int, runs: int, lanes: int, bounds: Mapping[int, int],
               axes: tuple[JointAxis | None, ...]) -> dict[str, int]:
    values = {"items": items, "runs": runs, "lanes": lanes}
    for number, bound in enumerate(bounds.values()):
        values[f"bound_{number}"] = bound
        for position, axis in enumerate(axes):
            values[f"limit_{number}_{position}"] = axis.pitches[_FIRST_LIMIT + number] if axis else 0
    return values


def _share_limit(one: JointAxis, other: JointAxis) -> bool:
    """Whether both axes add to the coordinate of one limit, of which a tile has at most one."""
    return any(a and b for a, b in zip(one.pitches[_FIRST_LIMIT:], other.pitches[_FIRST_LIMIT:], strict=True))


def _cut_views(source: Layout, target: Layout, blocks: Mapping[int, int]) -> tuple[TensorView, ...]:
    """Input, output and limits under the cut axes; a limit's pitch is what a step adds to its coordinate."""
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
