"""Reduces an element-wise operation to a few nested loops over memory.

The output's axes, blocks included, are taken in memory order; neighbours that every operand walks as one
are merged. What is left is at most a handful of dimensions with one pitch per operand, whatever the
formats were: a flat array, rows with one value each, 16 channels against pixels.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import KernelParams

LOOPS = 4


@dataclass(frozen=True)
class _Axis:
    """One loop: its size and the pitch of each operand (the output last)."""

    size: int
    pitches: tuple[int, ...]


def _loops(inputs: tuple[Layout, ...], output: Layout) -> list[_Axis] | None:
    """The merged loops, outermost first; None where an operand cannot follow the output's blocks."""
    views = [TensorView.of(x).broadcast(output.shape) for x in inputs] + [TensorView.of(output)]
    axes: list[_Axis] = []
    for axis in output.format.order_of(output.rank):
        block = output.format.block_of(axis)
        pitches = [_outer_pitch(view, axis, block, output) for view in views]
        if any(p is None for p in pitches):
            return None
        size = -(-output.static_shape[axis] // block)
        axes.append(_Axis(size, tuple(p for p in pitches if p is not None)))
    for axis, size in output.format.block_axes:
        axes.append(_Axis(size, tuple(_inner_pitch(view, axis) for view in views)))
    return _merge(axes)


def strided_views(params: KernelParams) -> list[TensorView] | None:
    """The operands' views (the output's last) over exactly LOOPS loops; None if that many do not suffice."""
    return _strided_views(params.inputs, params.outputs[0])


@lru_cache(maxsize=1024)
def _strided_views(inputs: tuple[Layout, ...], output: Layout) -> list[TensorView] | None:
    found = _loops(inputs, output)
    if found is None or len(found) > LOOPS:
        return None
    layouts = (*inputs, output)
    padded = [_Axis(1, (0,) * len(layouts))] * (LOOPS - len(found)) + found
    return [TensorView(layout.element_type, tuple(a.size for a in padded), tuple(a.pitches[i] for a in padded),
                       TensorView.of(layout).offset, (None,) * LOOPS) for i, layout in enumerate(layouts)]


def _outer_pitch(view: TensorView, axis: int, block: int, output: Layout) -> int | None:
    """The pitch of one step of the output's outer axis; None if the operand is blocked otherwise."""
    pitch, blocks = view.pitches[axis], view.blocks[axis]
    assert pitch is not None
    if blocks is None:
        fits = block == 1 or pitch == 0 or output.static_shape[axis] % block == 0
        return pitch * block if fits else None
    same = len(blocks.levels) == 1 and blocks.levels[0][0] == block and blocks.lower == 0
    return pitch if same and not output.padding.both(axis) else None


def _inner_pitch(view: TensorView, axis: int) -> int:
    blocks, pitch = view.blocks[axis], view.pitches[axis]
    assert pitch is not None
    return pitch if blocks is None else blocks.levels[0][1]


def _merge(axes: list[_Axis]) -> list[_Axis]:
    merged: list[_Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        last = merged[-1] if merged else None
        if last and all(p == q * axis.size for p, q in zip(last.pitches, axis.pitches, strict=True)):
            merged[-1] = _Axis(last.size * axis.size, axis.pitches)
        else:
            merged.append(axis)
    return merged
