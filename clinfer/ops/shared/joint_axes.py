"""Several views of tensors walked together: their axes in memory order, merged as far as all allow.

Kernels of a few fixed ranks then serve every rank, permutation and format.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView


@dataclass(frozen=True)
class JointAxis:
    """One axis: its size, its pitch in each view, and the group that the caller gave it."""

    size: int
    pitches: tuple[int, ...]
    group: int


@dataclass(frozen=True)
class JointAxes:
    """The axes (none of size 1) and the offset of each view.

    `covers_tails`: a walk over the axes also touches the unspecified elements that fill the last
    block of a blocked axis, whose group is in `tail_groups`.
    """

    axes: tuple[JointAxis, ...]
    offsets: tuple[int, ...]
    tail_groups: frozenset[int] = frozenset()

    @property
    def covers_tails(self) -> bool:
        return bool(self.tail_groups)

    def view(self, index: int, element_type: ElementType, axes: Sequence[JointAxis | None]) -> TensorView:
        """View `index` with the given axes; None stands for an axis of size 1."""
        return TensorView(element_type, tuple(a.size if a else 1 for a in axes),
                          tuple(a.pitches[index] if a else 1 for a in axes), self.offsets[index],
                          (None,) * len(axes))


def join_axes(views: tuple[TensorView, ...], groups: tuple[int, ...] | None = None, leader: int = 0,
              cuts_unblocked: bool = False) -> JointAxes | None:
    """The joint axes of static views of equal sizes, outermost first in the memory of view `leader`.

    `groups` gives a number per logical axis; only axes of one group are merged. None if a blocked
    axis is not blocked alike in every view that moves along it, or blocked at more than one level; with
    `cuts_unblocked` whole blocks of it may lie one behind another in others.
    """
    axes: list[JointAxis] = []
    offsets = [view.offset or 0 for view in views]
    fused_ops: set[int] = set()
    for axis, size in enumerate(views[0].sizes):
        assert isinstance(size, int)
        group = groups[axis] if groups else 0
        if all(view.blocks[axis] is None for view in views):
            axes.append(JointAxis(size, tuple(view.pitches[axis] or 0 for view in views), group))
            continue
        split = _split_blocks(views, axis, size, group, offsets, cuts_unblocked)
        if split is None:
            return None
        axes += split
        if size % split[1].size:
            fused_ops.add(group)
    axes = [a for a in axes if a.size != 1]
    axes.sort(key=lambda a: -abs(a.pitches[leader]))
    return JointAxes(tuple(_merge(axes)), tuple(offsets), frozenset(fused_ops))


def _split_blocks(views: tuple[TensorView, ...], axis: int, size: int, group: int,
                  offsets: list[int], cuts_unblocked: bool) -> list[JointAxis] | None:
    """A blocked axis as an axis over blocks and one within them; moves `offsets` past the padding."""
    levels = {view.blocks[axis].levels for view in views if view.blocks[axis] is not None}  # type: ignore[union-attr]
    if len(levels) != 1:
        return None
    (only, *more), = levels
    if more:
        return None
    block, inner = only
    outer_pitches, inner_pitches = [], []
    for index, view in enumerate(views):
        blocks, pitch = view.blocks[axis], view.pitches[axis] or 0
        if blocks is None:
            if pitch != 0 and (size % block or not cuts_unblocked):
                return None
            outer_pitches.append(pitch * block)
            inner_pitches.append(pitch)
            continue
        if blocks.lower % block:
            return None
        offsets[index] += blocks.lower // block * pitch
        outer_pitches.append(pitch)
        inner_pitches.append(inner)
    return [JointAxis(-(-size // block), tuple(outer_pitches), group),
            JointAxis(block, tuple(inner_pitches), group)]


def _merge(axes: Sequence[JointAxis]) -> list[JointAxis]:
    merged: list[JointAxis] = []
    for axis in axes:
        last = merged[-1] if merged else None
        if last is not None and last.group == axis.group and all(
                outer == inner * axis.size for outer, inner in zip(last.pitches, axis.pitches, strict=True)):
            merged[-1] = replace(axis, size=last.size * axis.size)
        else:
            merged.append(axis)
    return merged
