"""The problem of looking up: data, indices and output by the coordinates of the output."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.shape import Shape
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Move,
    Operand,
    Problem,
    input_operand,
    output_operand,
)
from clinfer.ops.gather.op import Gathering, Lookup
from clinfer.ops.shared.choices import numbered_choice
from clinfer.ops.shared.joint_axes import JointAxes, JointAxis, join_axes
from clinfer.ops.shared.view_copy import ViewCopy, raw_view
from clinfer.ops.shared.views import along_axis, index_view, open_view

_ROW_RANK = 4


@dataclass(frozen=True)
class GatherViews:
    """Views of equal sizes: data (at index 0 of what is looked up), indices (the first of a place), output, and what
    fused operations read."""

    data: TensorView
    indices: TensorView
    output: TensorView
    read: tuple[TensorView, ...]

    @property
    def all(self) -> tuple[TensorView, ...]:
        return self.data, self.indices, self.output, *self.read


@dataclass(frozen=True)
class GatherProblem(Problem):
    """Elements of input 0 at places that input 1 names."""

    primitive: Gathering

    @cached_property
    def lookup(self) -> Lookup | None:
        """Where elements come from, or None while it is unknown."""
        data, indices = self.inputs[:2]
        return self.primitive.lookup(data.shape, indices.shape, self.values)

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of the output, twice, and of what fused operations read: of the data no more is read, of indices
        little."""
        output = self.outputs[0]
        return output.element_type.byte_size(2 * output.count) + sum(x.byte_size for x in self.fused_inputs)

    @cached_property
    def views(self) -> GatherViews:
        """The views by the output's axes; those of `GatherND5` by all the batch axes."""
        data, indices, output = self.inputs[0], self.inputs[1], self.outputs[0]
        lookup = self.lookup
        if lookup is None:
            return self._open_views(output.rank)
        target, *read = (TensorView.of(x).broadcast(output.shape) for x in (output, *self.fused_inputs))
        if target.rank < len(lookup.data_axes):
            batch = len(lookup.data_axes) - target.rank + 1
            target, *read = (_split_first(view, data.shape[:batch]) for view in (target, *read))
        return GatherViews(_along(TensorView.of(data), lookup.data_axes, target.sizes),
                           _along(TensorView.of(indices), lookup.index_axes, target.sizes), target, tuple(read))

    @cached_property
    def rows(self) -> GatherViews | None:
        """The views of a static problem merged to four axes, the last of which is contiguous in data and output; None
        where they do not merge to that."""
        joint = join_axes(self.views.all, None, 2)
        axes = None if joint is None else _row_axes(joint)
        if joint is None or axes is None:
            return None
        data, indices, output, *read = (joint.view(i, view.element_type, axes)
                                        for i, view in enumerate(self.views.all))
        return GatherViews(data, indices, output, tuple(read))

    @property
    def rows_or_open(self) -> GatherViews:
        """`rows`, or views of four axes while shapes or values are unknown, or where there are none."""
        known = self.lookup is not None and self.is_static and self.outputs[0].count > 0
        return (self.rows if known else None) or self._open_views(_ROW_RANK)

    def operands(self, views: GatherViews) -> tuple[Operand, ...]:
        """Data, indices and output; data and output as elements where there are fused operations, else as storage
        units."""
        data, output = views.data, views.output
        if not self.primitive.fused_ops:
            data, output = raw_view(data), raw_view(output)
        return input_operand(self, 0, data), input_operand(self, 1, views.indices), output_operand(self, 0, output)

    @property
    def constants(self) -> dict[str, Constant]:
        """How many indices make up a place, and how they are read."""
        count = self.primitive.index_count(self.inputs[1].shape)
        return {"INDEX_COUNT": count, "WRAPS_NEGATIVE": self.primitive.wraps_negative,
                "AXIS_SIZE(n)": numbered_choice("ARG_AXIS_SIZE", count),
                "AXIS_PITCH(n)": numbered_choice("ARG_AXIS_PITCH", count)}

    @property
    def arguments(self) -> dict[str, int]:
        """Sizes and pitches of the data axes that are looked up, and the pitch from index to index of a place."""
        count = max(self.primitive.index_count(self.inputs[1].shape), 1)
        found = {f"axis_{what}_{n}": 0 for n in range(count) for what in ("size", "pitch")} | {"tuple_pitch": 0}
        if self.lookup is None or not self.is_static:
            return found
        data, indices = TensorView.of(self.inputs[0]), TensorView.of(self.inputs[1])
        for number, axis in enumerate(self.lookup.looked_up):
            found[f"axis_size_{number}"] = data.sizes[axis]  # type: ignore[assignment]
            found[f"axis_pitch_{number}"] = data.pitches[axis]  # type: ignore[assignment]
        if self.lookup.tuple_axis is not None:
            found["tuple_pitch"] = indices.pitches[self.lookup.tuple_axis]  # type: ignore[assignment]
        return found

    @property
    def moves(self) -> tuple[Move, ...]:
        """One run of bytes where slices stand one behind the other."""
        data, output = self.inputs[0], self.outputs[0]
        run = self.primitive.run(data.static_shape, self.values) if self.is_static else None
        if run is None or not output.is_dense_planar:
            return Move(0, 0, None),
        axis, first, number = run
        part = index_view(TensorView.of(data), along_axis(data.rank, axis, first, first + number))
        target = TensorView.dense(output.element_type, part.sizes)
        return ViewCopy(BufferRef("input", 0), BufferRef("output", 0), part, target).move,

    def _open_views(self, rank: int) -> GatherViews:
        data, indices, output, *read = (open_view(x.element_type, rank) for x in (
            *self.inputs[:2], self.outputs[0], *self.fused_inputs))
        return GatherViews(data, indices, output, tuple(read))


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


def _row_axes(joint: JointAxes) -> tuple[JointAxis | None, ...] | None:
    """The axes as four of which the last is contiguous in data and output and not one of the indices; fused operations
    read neighbours along it, or one value."""
    if not joint.axes or len(joint.axes) > _ROW_RANK or joint.axes[-1].pitches[:3] != (1, 0, 1):
        return None
    if any(pitch not in (0, 1) for pitch in joint.axes[-1].pitches[3:]):
        return None
    return (*(None,) * (_ROW_RANK - len(joint.axes)), *joint.axes)
