"""Kernels that copy one strided view into another: what transposing, slicing, splitting and joining are.

A room describes its copies as pairs of views; the kernels work on storage units, so that all element
types of one size share a build, and on merged axes, so that all ranks do.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, KernelSpec, Move, Operand, Stage
from clinfer.ops.shared.block_copying import blocks_reason, blocks_stage
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis
from clinfer.ops.shared.memo import remember_last
from clinfer.ops.shared.reduction import cpu_only
from clinfer.ops.shared.view_copy import PACKAGE, CopyOf, ViewCopy, whole_bytes
from clinfer.ops.shared.views import at_least_one_axis, open_view

LOCAL_SIZE = 64
TILE = 16
SHORTEST_ROW = 8
_RANK = 4


def copy_kernels(prefix: str, copy_of: CopyOf, count_of: Callable[[KernelParams], int],
                 formats: Callable[[KernelParams], Formats],
                 also: Literal["", "tiles", "blocks"] = "", takes_tails: bool = False) -> tuple[KernelSpec, ...]:
    """The kernel table of a primitive that consists of copies.

    `copy_of(params, n)` is the n-th of its `count_of(params)` copies. `<prefix>_rows` copies contiguous runs
    and `_ref` everything. A room may have `_tiles`, which goes between memories of different innermost axes,
    or `_blocks`, which shifts channels within blocks, between these. `takes_tails`: there is one copy, of which the
    target is all of output 0, and all kernels but `_blocks` apply fused tails.
    """
    copy_of = remember_last(_with_tails(copy_of) if takes_tails else copy_of)

    def table(make: Callable[[CopyOf, int], Stage]) -> Callable[[KernelParams], tuple[Stage, ...]]:
        def stages(params: KernelParams) -> tuple[Stage, ...]:
            made = tuple(make(copy_of, n) for n in range(count_of(params)))
            # Without tails all rooms share one build.
            return made if takes_tails and params.primitive.tails else tuple(replace(x, tail_view=None) for x in made)
        return stages

    def all_fit(reason: Callable[[ViewCopy], str | None]) -> Callable[[KernelParams], str | None]:
        return lambda params: next(filter(None, (reason(copy_of(params, n)) for n in range(count_of(params)))), None)

    def moves(params: KernelParams) -> tuple[Move, ...]:
        return tuple(copy_of(params, n).move for n in range(count_of(params)))

    def blocked_on_cpu(params: KernelParams) -> str | None:
        blocked = all(any(view.blocks) for n in range(count_of(params))
                      for view in (copy_of(params, n).source, copy_of(params, n).target))
        return cpu_only(params) or whole_bytes(params) or (None if blocked else "made for blocked formats")

    rows = KernelSpec(f"{prefix}_rows", table(_rows_stage), whole_bytes, lambda params: 30.0, formats,
                      all_fit(_rows_reason), moves=moves)
    tiles = KernelSpec(f"{prefix}_tiles", table(_tiles_stage), whole_bytes, lambda params: 20.0, formats,
                       all_fit(_tiles_reason), moves=moves)
    blocks = KernelSpec(f"{prefix}_blocks", table(blocks_stage), blocked_on_cpu, lambda params: 10.0, formats,
                        all_fit(blocks_reason), moves=moves)
    ref = KernelSpec(f"{prefix}_ref", table(_ref_stage), whole_bytes, lambda params: 0.0, formats, moves=moves)
    return (rows, *{"": (), "tiles": (tiles,), "blocks": (blocks,)}[also], ref)


Seen = Callable[[ViewCopy], tuple[TensorView, ...]]
"""How a kernel sees the views of a copy."""


def _stage(name: str, copy_of: CopyOf, number: int, seen: Seen, dispatch: Callable[[KernelParams], Dispatch],
           constants: Callable[[KernelParams], dict[str, Constant]]) -> Stage:
    """The stage of one copy."""
    def operands(params: KernelParams) -> tuple[Operand, ...]:
        copy = copy_of(params, number)
        source, target, *_ = seen(copy)
        return copy.operands(source, target, is_raw=not params.primitive.tails)

    def tail_view(params: KernelParams, index: int) -> TensorView:
        return seen(copy_of(params, number))[2 + index]
    return Stage(f"{name}.cl", name, dispatch, operands, constants, bake=False, package=PACKAGE, tail_view=tail_view)


def _with_tails(copy_of: CopyOf) -> CopyOf:
    """The copies with what tails read."""
    def copy(params: KernelParams, number: int) -> ViewCopy:
        plain = copy_of(params, number)
        read = tuple(TensorView.of(x).broadcast(plain.target.sizes) for x in params.tail_inputs)
        return replace(plain, read=read) if read else plain
    return copy


# -- runs of the last axis --------------------------------------------------------------------------


def local_items(count: int, local_size: int = LOCAL_SIZE) -> Dispatch:
    """A one-dimensional launch of at least `count` items in whole work-groups."""
    return Dispatch((-(-count // local_size) * local_size,), (local_size,))


def span_constants(params: KernelParams) -> dict[str, Constant]:
    """How reference kernels share out the last axis: on a CPU, work-items take whole runs of it."""
    on_cpu = params.capabilities.device_type == "CPU"
    return {"SPAN": LOCAL_SIZE if on_cpu else 1, "LOCAL": 1 if on_cpu else LOCAL_SIZE}


def span_dispatch(params: KernelParams, sizes: Sequence[int]) -> Dispatch:
    """One work-item per run of the last axis (see `span_constants`); nothing for no elements."""
    constants = span_constants(params)
    span, local_size = int(constants["SPAN"]), int(constants["LOCAL"])
    return local_items(math.prod(sizes[:-1]) * -(-sizes[-1] // span), local_size)


def _as_they_are(copy: ViewCopy) -> tuple[TensorView, ...]:
    return tuple(map(at_least_one_axis, copy.views))


def _ref_stage(copy_of: CopyOf, number: int) -> Stage:

    def dispatch(params: KernelParams) -> Dispatch:
        return span_dispatch(params, at_least_one_axis(copy_of(params, number).target).sizes)  # type: ignore[arg-type]
    return _stage("copy_ref", copy_of, number, _as_they_are, dispatch, span_constants)


# -- contiguous rows --------------------------------------------------------------------------------


def _rows_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four of which the last is contiguous on both sides; tails read neighbours there, or one value."""
    if not joint.axes or len(joint.axes) > _RANK or joint.axes[-1].pitches[:2] != (1, 1):
        return None
    if any(pitch not in (0, 1) for pitch in joint.axes[-1].pitches[2:]):
        return None
    return (*(None,) * (_RANK - len(joint.axes)), *joint.axes)


def _rows_reason(copy: ViewCopy) -> str | None:
    if copy.count == 0:
        return None
    axes = None if copy.joint is None else _rows_axes(copy.joint)
    if axes is None or axes[-1] is None:
        return "no axis is contiguous in both input and output"
    return None if axes[-1].size >= SHORTEST_ROW else "the contiguous rows are short"


Arrange = Callable[[JointAxes], Sequence["JointAxis | None"] | None]


def _arranged(arrange: Arrange, copy: ViewCopy) -> tuple[TensorView, ...]:
    """The views of a copy under four axes; open ones while shapes or values are unknown."""
    kinds = [view.element_type for view in copy.views]
    if copy.is_static and copy.count == 0:
        return tuple(TensorView.dense(kind, (0,) * _RANK) for kind in kinds)
    joint = copy.joint if copy.is_static else None
    axes = None if joint is None else arrange(joint)
    if joint is None or axes is None:
        return tuple(open_view(kind, _RANK) for kind in kinds)
    return tuple(joint.view(i, kind, axes) for i, kind in enumerate(kinds))


def _rows_stage(copy_of: CopyOf, number: int) -> Stage:
    def dispatch(params: KernelParams) -> Dispatch:
        size0, size1, size2, length = _arranged(_rows_axes, copy_of(params, number))[1].sizes
        return Dispatch((-(-length // _span(params)), size0 * size1 * size2))  # type: ignore[operator]

    def constants(params: KernelParams) -> dict[str, Constant]:
        return {"VEC": 16 if params.capabilities.device_type == "CPU" else 4, "SPAN": _span(params)}
    return _stage("copy_rows", copy_of, number, partial(_arranged, _rows_axes), dispatch, constants)


def _span(params: KernelParams) -> int:
    return 256 if params.capabilities.device_type == "CPU" else 4


# -- transposed tiles -------------------------------------------------------------------------------


def _tiles_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four: the third contiguous in the input, the fourth in the output; tails read neighbours along the
    fourth, or one value."""
    if not 2 <= len(joint.axes) <= _RANK or joint.axes[-1].pitches[1] != 1:
        return None
    last = joint.axes[-1]
    if any(pitch not in (0, 1) for pitch in last.pitches[2:]):
        return None
    runs = [axis for axis in joint.axes[:-1] if axis.pitches[0] == 1]
    if len(runs) != 1:
        return None
    others = [axis for axis in joint.axes[:-1] if axis is not runs[0]]
    return (*(None,) * (_RANK - 2 - len(others)), *others, runs[0], last)


def _tiles_reason(copy: ViewCopy) -> str | None:
    if copy.count == 0 or (copy.joint is not None and _tiles_axes(copy.joint) is not None):
        return None
    return "input and output are not transposed"


def _tiles_stage(copy_of: CopyOf, number: int) -> Stage:
    def dispatch(params: KernelParams) -> Dispatch:
        size0, size1, size2, size3 = _arranged(_tiles_axes, copy_of(params, number))[1].sizes
        return Dispatch((-(-size3 // TILE), -(-size2 // TILE), size0 * size1))  # type: ignore[operator]
    return _stage("copy_tiles", copy_of, number, partial(_arranged, _tiles_axes), dispatch,
                  lambda params: {"TILE": TILE})
