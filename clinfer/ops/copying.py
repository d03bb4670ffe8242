"""Kernels that copy one strided view into another: what transposing, slicing, splitting and joining are.

A room describes its copies as pairs of views; the kernels work on storage units, so that all element
types of one size share a build, and on merged axes, so that all ranks do.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clinfer.base.element_type import ElementType
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
)
from clinfer.ops.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.views import at_least_one_axis, is_static_view, open_view

PACKAGE = "clinfer.ops"
LOCAL_SIZE = 64
TILE = 16
SHORTEST_ROW = 8
_RANK = 4


@dataclass(frozen=True)
class ViewCopy:
    """One copy of a primitive: views of equal sizes of one input and one output.

    While shapes or values are unknown the views are open, but have their rank and blocks.
    `owns_tails`: elements that fill up the output's last block may be overwritten.
    """

    input: BufferRef
    output: BufferRef
    source: TensorView
    target: TensorView
    owns_tails: bool = True

    @property
    def is_static(self) -> bool:
        return is_static_view(self.source) and is_static_view(self.target)


CopyOf = Callable[[KernelParams, int], ViewCopy]


def copy_kernels(prefix: str, copy_of: CopyOf, count_of: Callable[[KernelParams], int],
                 formats: Callable[[KernelParams], Formats], with_tiles: bool = False) -> tuple[KernelSpec, ...]:
    """The kernel table of a primitive that consists of copies: `<prefix>_rows` and `<prefix>_ref`.

    `copy_of(params, n)` is the n-th of its `count_of(params)` copies. `with_tiles` adds `<prefix>_tiles`,
    for copies between memories with different innermost axes.
    """
    def table(make: Callable[[CopyOf, int], Stage]) -> Callable[[KernelParams], tuple[Stage, ...]]:
        return lambda params: tuple(make(copy_of, n) for n in range(count_of(params)))

    def all_fit(reason: Callable[[ViewCopy], str | None]) -> Callable[[KernelParams], str | None]:
        return lambda params: next(filter(None, (reason(copy_of(params, n)) for n in range(count_of(params)))), None)

    rows = KernelSpec(f"{prefix}_rows", table(_rows_stage), _whole_bytes, lambda params: 20.0, formats,
                      all_fit(_rows_reason))
    tiles = KernelSpec(f"{prefix}_tiles", table(_tiles_stage), _whole_bytes, lambda params: 10.0, formats,
                       all_fit(_tiles_reason))
    ref = KernelSpec(f"{prefix}_ref", table(_ref_stage), _whole_bytes, lambda params: 0.0, formats)
    return (rows, tiles, ref) if with_tiles else (rows, ref)


def _whole_bytes(params: KernelParams) -> str | None:
    kind = params.outputs[0].element_type
    return f"two elements of {kind} share a byte" if kind.is_packed else None


def whole(params: KernelParams, kind: str, index: int) -> TensorView:
    """The view that a layout of the primitive has by itself."""
    return TensorView.of((params.inputs if kind == "input" else params.outputs)[index])


def storage_type(element_type: ElementType) -> ElementType:
    """The unsigned integer of the element's size."""
    return ElementType.of(f"u{element_type.bits}")


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


def _operands(copy: ViewCopy, source: TensorView, target: TensorView) -> tuple[Operand, ...]:
    return (Operand("INPUT0", copy.input, replace(source, element_type=storage_type(source.element_type))),
            Operand("OUTPUT0", copy.output, replace(target, element_type=storage_type(target.element_type))))


# -- one element per work-item ----------------------------------------------------------------------


def _ref_stage(copy_of: CopyOf, number: int) -> Stage:
    def operands(params: KernelParams) -> tuple[Operand, ...]:
        copy = copy_of(params, number)
        return _operands(copy, at_least_one_axis(copy.source), at_least_one_axis(copy.target))

    def dispatch(params: KernelParams) -> Dispatch:
        return span_dispatch(params, at_least_one_axis(copy_of(params, number).target).sizes)  # type: ignore[arg-type]
    return Stage("copy_ref.cl", "copy_ref", dispatch, operands, span_constants, bake=False, package=PACKAGE)


def _count(copy: ViewCopy) -> int:
    return math.prod(copy.target.sizes)  # type: ignore[arg-type]


# -- contiguous rows --------------------------------------------------------------------------------


def _joined(copy: ViewCopy) -> JointAxes | None:
    joint = join_axes((copy.source, copy.target), None, 1)
    return None if joint is None or (joint.covers_tails and not copy.owns_tails) else joint


def _rows_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four of which the last is contiguous on both sides."""
    if not joint.axes or len(joint.axes) > _RANK or joint.axes[-1].pitches != (1, 1):
        return None
    return (*(None,) * (_RANK - len(joint.axes)), *joint.axes)


def _rows_reason(copy: ViewCopy) -> str | None:
    if _count(copy) == 0:
        return None
    joint = _joined(copy)
    axes = None if joint is None else _rows_axes(joint)
    if axes is None or axes[-1] is None:
        return "no axis is contiguous in both input and output"
    return None if axes[-1].size >= SHORTEST_ROW else "the contiguous rows are short"


def _arranged(arrange: Callable[[JointAxes], Sequence[JointAxis | None] | None],
              copy: ViewCopy) -> tuple[TensorView, TensorView]:
    kinds = copy.source.element_type, copy.target.element_type
    if copy.is_static and _count(copy) == 0:
        return TensorView.dense(kinds[0], (0,) * _RANK), TensorView.dense(kinds[1], (0,) * _RANK)
    joint = _joined(copy) if copy.is_static else None
    axes = None if joint is None else arrange(joint)
    if joint is None or axes is None:
        return open_view(kinds[0], _RANK), open_view(kinds[1], _RANK)
    return joint.view(0, kinds[0], axes), joint.view(1, kinds[1], axes)


def _rows_stage(copy_of: CopyOf, number: int) -> Stage:
    def operands(params: KernelParams) -> tuple[Operand, ...]:
        copy = copy_of(params, number)
        return _operands(copy, *_arranged(_rows_axes, copy))

    def dispatch(params: KernelParams) -> Dispatch:
        copy = copy_of(params, number)
        if _count(copy) == 0:
            return Dispatch((0,))
        target = _arranged(_rows_axes, copy)[1]
        size0, size1, size2, length = target.sizes
        return Dispatch((-(-length // _span(params)), size0 * size1 * size2))  # type: ignore[operator]

    def constants(params: KernelParams) -> dict[str, Constant]:
        return {"VEC": 16 if params.capabilities.device_type == "CPU" else 4, "SPAN": _span(params)}
    return Stage("copy_rows.cl", "copy_rows", dispatch, operands, constants, bake=False, package=PACKAGE)


def _span(params: KernelParams) -> int:
    return 256 if params.capabilities.device_type == "CPU" else 4


# -- transposed tiles -------------------------------------------------------------------------------


def _tiles_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four: the third contiguous in the input, the fourth in the output."""
    if not 2 <= len(joint.axes) <= _RANK or joint.axes[-1].pitches[1] != 1:
        return None
    last = joint.axes[-1]
    runs = [axis for axis in joint.axes[:-1] if axis.pitches[0] == 1]
    if len(runs) != 1:
        return None
    others = [axis for axis in joint.axes[:-1] if axis is not runs[0]]
    return (*(None,) * (_RANK - 2 - len(others)), *others, runs[0], last)


def _tiles_reason(copy: ViewCopy) -> str | None:
    if _count(copy) == 0:
        return None
    joint = _joined(copy)
    return None if joint is not None and _tiles_axes(joint) is not None else "input and output are not transposed"


def _tiles_stage(copy_of: CopyOf, number: int) -> Stage:
    def operands(params: KernelParams) -> tuple[Operand, ...]:
        copy = copy_of(params, number)
        return _operands(copy, *_arranged(_tiles_axes, copy))

    def dispatch(params: KernelParams) -> Dispatch:
        copy = copy_of(params, number)
        if _count(copy) == 0:
            return Dispatch((0,))
        size0, size1, size2, size3 = _arranged(_tiles_axes, copy)[1].sizes
        return Dispatch((-(-size3 // TILE), -(-size2 // TILE), size0 * size1))  # type: ignore[operator]
    return Stage("copy_tiles.cl", "copy_tiles", dispatch, operands, lambda params: {"TILE": TILE}, bake=False,
                 package=PACKAGE)
