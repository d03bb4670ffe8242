"""What kernels share that work along some axes of a tensor: reductions, normalisations, softmax.

Reference kernels see a tensor with the axes that stay first and those worked along (the reduced ones)
last. Fast kernels see four merged axes: `rows` are [a, b, c, length] with a contiguous length, `columns`
are [a, b, length, inner] with a contiguous inner axis that stays.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import Shape, show
from clinfer.base.shape_inference import Values
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import Constant, Dispatch, Formats, KernelParams, Operand, input_operand, output_operand
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.memo import remember_last
from clinfer.ops.shared.views import open_view
from clinfer.topology import Primitive

ROW_LANES_ON_GPU = 128
COLUMN_VECTOR = 16
COLUMN_GROUP = 32
_RANK = 4
_KEPT, _REDUCED = 0, 1

# The ends of each arithmetic type, in OpenCL C.
LOWEST = {"float": "-INFINITY", "double": "-INFINITY", "int": "INT_MIN", "long": "LONG_MIN", "uint": "0u",
           "ulong": "0ul"}
HIGHEST = {"float": "INFINITY", "double": "INFINITY", "int": "INT_MAX", "long": "LONG_MAX", "uint": "UINT_MAX",
            "ulong": "ULONG_MAX"}

Axes = tuple[int, ...]
AxesOf = Callable[[KernelParams], "Axes | None"]
ResultView = Callable[[KernelParams, Layout], TensorView]


def normalized_axes(values: Values, index: int, rank: int) -> Axes | None:
    """The axes in a value input, counted from the front and ascending, or None while they are unknown."""
    if index not in values:
        return None
    return tuple(sorted({int(axis) % rank for axis in values[index].reshape(-1)})) if rank else ()


def check_given_axes(primitive: Primitive, data: Shape | None, values: Values) -> None:
    """An error where value input 1 names an axis that the data does not have."""
    if data is None or 1 not in values:
        return
    wrong = [int(axis) for axis in values[1].reshape(-1) if not -len(data) <= axis < len(data)]
    if wrong:
        raise ClinferError("an axis lies outside the data", where=primitive.where,
                           values={"axes": wrong, "data": show(data)})


def unblocked_formats(params: KernelParams, axes: Axes | None) -> Formats:
    """The data in its present format unless blocks lie along a reduced axis; equal ranks get the same."""
    data, *others = params.inputs
    present = axes is not None and all(data.format.block_of(axis) == 1 for axis in axes)
    kept = data.format if present else Format.planar(data.rank)
    outputs = tuple(kept if x.rank == data.rank else Format.planar(x.rank) for x in params.outputs)
    return Formats((kept, *(Format.planar(x.rank) for x in others)), outputs)


# -- reference kernels ------------------------------------------------------------------------------


def kept_first(view: TensorView, axes: Axes | None, is_open: bool) -> TensorView:
    """The view with the kept axes in front of the reduced ones.

    Where the axes were unknown at build time (`is_open`), every axis stands in both parts, and has
    size 1 in the one where it does not belong.
    """
    rank = view.rank
    if not is_open:
        assert axes is not None
        return view.permute((*(a for a in range(rank) if a not in axes), *axes))
    if axes is None:
        return open_view(view.element_type, 2 * rank)
    kept = tuple(1 if a in axes else view.sizes[a] for a in range(rank))
    reduced = tuple(view.sizes[a] if a in axes else 1 for a in range(rank))
    pitches = tuple(p if p or s != 1 else 1 for p, s in zip(view.pitches * 2, kept + reduced, strict=True))
    return TensorView(view.element_type, kept + reduced, pitches, view.offset, view.blocks * 2)


def reference_constants(rank: int, axes: Axes | None, is_open: bool) -> dict[str, Constant]:
    """KEPT_RANK and the list of INPUT0's sizes (with one more entry, as C knows no empty array)."""
    total = 2 * rank if is_open else rank
    kept = rank if is_open else rank - len(axes or ())
    return {"KEPT_RANK": kept, "SIZES": "{" + ", ".join([*(f"INPUT0_SIZE_{a}" for a in range(total)), "1"]) + "}"}


def kept_count(layout: Layout, axes: Axes) -> int:
    """How many elements one reduction over `axes` leaves."""
    return math.prod(size for a, size in enumerate(layout.static_shape) if a not in axes)


def reduced_count(layout: Layout, axes: Axes) -> int:
    """How many elements go into one result."""
    return math.prod(layout.static_shape[a] for a in axes)


# -- rows and columns -------------------------------------------------------------------------------

Arrange = Callable[[JointAxes], Sequence["JointAxis | None"] | None]


def rows_of(joint: JointAxes) -> Sequence[JointAxis | None] | None:
    """[a, b, c, length]: at most three kept axes, then one contiguous reduced one."""
    groups = [axis.group for axis in joint.axes]
    if not groups or len(groups) > _RANK or groups != [_KEPT] * (len(groups) - 1) + [_REDUCED]:
        return None
    if joint.axes[-1].pitches[0] != 1 or joint.covers_tails or not _is_vector(joint.axes[-1]):
        return None
    return (*(None,) * (_RANK - len(groups)), *joint.axes)


def columns_of(joint: JointAxes) -> Sequence[JointAxis | None] | None:
    """[a, b, length, inner]: one reduced axis before a contiguous kept one, and at most two before it."""
    groups = [axis.group for axis in joint.axes]
    if not 2 <= len(groups) <= _RANK or groups != [_KEPT] * (len(groups) - 2) + [_REDUCED, _KEPT]:
        return None
    if joint.axes[-1].pitches[:2] != (1, 1) or _REDUCED in joint.tail_groups or not _is_vector(joint.axes[-1]):
        return None
    return (*(None,) * (_RANK - len(groups)), *joint.axes)


def _is_vector(axis: JointAxis) -> bool:
    """Whether what tails read can be loaded in vectors along an axis: neighbours, or one value for all."""
    return all(pitch in (0, 1) for pitch in axis.pitches[2:])


def vector_columns_of(joint: JointAxes) -> Sequence[JointAxis | None] | None:
    """Columns whose inner axis is a multiple of the vector's length."""
    axes = columns_of(joint)
    return axes if axes is not None and axes[-1] is not None and axes[-1].size % COLUMN_VECTOR == 0 else None


class Arranged:
    """The operands of a fast kernel, their launch, and whether it fits, for one arrangement of the axes.

    `result` gives the view of the output, or of what tails read, with the input's axes (any pitch where the output
    has size 1).
    """

    def __init__(self, arrange: Arrange, axes_of: AxesOf,
                 result: ResultView) -> None:
        self._arrange = arrange
        self._axes_of = axes_of
        self._result = result
        self._axes = remember_last(self._find_axes)

    def _find_axes(self, params: KernelParams) -> tuple[JointAxes, Sequence[JointAxis | None]] | None:
        axes = self._axes_of(params)
        if axes is None or not params.is_static or params.inputs[0].count == 0:
            return None
        data = TensorView.of(params.inputs[0])
        groups = tuple(_REDUCED if a in axes else _KEPT for a in range(data.rank))
        results = (self._result(params, x).broadcast(data.sizes) for x in (params.outputs[0], *params.tail_inputs))
        joint = join_axes((data, *results), groups)
        arranged = None if joint is None else self._arrange(joint)
        return None if joint is None or arranged is None else (joint, arranged)

    def reason(self, params: KernelParams) -> str | None:
        """Why the kernel cannot work on these static layouts, or None."""
        return None if self._axes(params) is not None else "the axes do not fit the kernel's arrangement"

    def operands(self, params: KernelParams) -> tuple[Operand, ...]:
        """INPUT0 and OUTPUT0 under the arranged axes; open views while shapes or axes are unknown."""
        found = self._axes(params)
        kinds = params.inputs[0].element_type, params.outputs[0].element_type
        if found is None:
            views = open_view(kinds[0], _RANK), open_view(kinds[1], _RANK)
        else:
            joint, axes = found
            views = joint.view(0, kinds[0], axes), joint.view(1, kinds[1], axes)
        return input_operand(params, 0, views[0]), output_operand(params, 0, views[1])

    def tail_view(self, params: KernelParams, index: int) -> TensorView:
        """What the n-th tail reads under the arranged axes."""
        found, kind = self._axes(params), params.tail_inputs[index].element_type
        return open_view(kind, _RANK) if found is None else found[0].view(2 + index, kind, found[1])

    def sizes(self, params: KernelParams) -> tuple[int, ...]:
        """The sizes of the arranged axes of static layouts."""
        return self.operands(params)[0].view.sizes  # type: ignore[return-value]


def row_lanes(params: KernelParams) -> int:
    """Work-items that share a row: one on a CPU, where vectors fill a core."""
    able = params.capabilities
    return 1 if able.device_type == "CPU" else min(ROW_LANES_ON_GPU, able.max_work_group_size)


def rows_dispatch(rows: Arranged, params: KernelParams) -> Dispatch:
    """One work-group per row."""
    a, b, c, _ = rows.sizes(params)
    lanes = row_lanes(params)
    return Dispatch((a * b * c * lanes,), (lanes,))


def rows_constants(params: KernelParams) -> dict[str, Constant]:
    """LANES work-items per row, each loading vectors of VEC."""
    lanes = row_lanes(params)
    return {"LANES": lanes, "VEC": 16 if lanes == 1 else 4}


def columns_dispatch(columns: Arranged, vector: int, params: KernelParams) -> Dispatch:
    """One work-item per `vector` columns; single columns in groups, the last of which is not full."""
    a, b, _, inner = columns.sizes(params)
    if vector > 1:
        return Dispatch((inner // vector, a * b), (1, 1))
    return Dispatch((-(-inner // COLUMN_GROUP) * COLUMN_GROUP, a * b), (COLUMN_GROUP, 1))


def cpu_only(params: KernelParams) -> str | None:
    """Kernels whose work-items hold whole vectors are for CPUs."""
    return None if params.capabilities.device_type == "CPU" else "made for CPUs"
