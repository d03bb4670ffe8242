"""Primitives that read parts of tensors and write their result with its axes in another order.

What moves or cuts elements around such a primitive (Transpose, Split, Slice) is then no work: kernels reach the
elements through views.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from clinfer.base.layout import Layout
from clinfer.base.part import Part
from clinfer.base.shape import Shape
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Problem
from clinfer.ops.shared.views import along_axis_in_turn, index_view, open_view
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive

R = TypeVar("R", bound="ReadsParts")


def part_view(part: Part, view: TensorView) -> TensorView:
    """A part of a viewed tensor."""
    cuts = {axis: (start, stop) for axis, start, stop in part.cuts}
    index: list[slice | int | None] = []
    for axis in range(view.rank):
        start, stop = cuts.get(axis, (None, None))
        index.append(slice(start, stop) if axis in part.axes else start)
    kept = sorted(part.axes)
    return index_view(view, tuple(index)).permute(tuple(kept.index(axis) for axis in part.axes))


def result_view(primitive: ReadsParts, view: TensorView) -> TensorView:
    """A view with the axes of a primitive's output, with these as its result has them."""
    axes = primitive.result_axes
    return view.permute(tuple(axes.index(axis) for axis in range(view.rank))) if axes else view


@dataclass(frozen=True)
class ReadsParts(Primitive, ABC):
    """`parts`: what it sees of its first inputs (None, or none given: all); `result_axes`: axis `result_axes[i]` of
    its result is axis i of its output (empty: as they are)."""

    parts: tuple[Part | None, ...] = ()
    result_axes: tuple[int, ...] = ()

    own_fields: ClassVar[tuple[str, ...]] = ("parts", "result_axes")
    part_inputs: ClassVar[tuple[int, ...]] = ()
    """The inputs of which it can read parts."""
    result_keeps_last: ClassVar[bool] = True
    """Whether the last axis of its result must stay the last one of its output."""

    def seen(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        """The shapes of what it sees of inputs of these shapes."""
        parts = (*self.parts, *(None,) * (len(shapes) - len(self.parts)))
        return tuple(shape if part is None or shape is None else part.shape(shape)
                     for part, shape in zip(parts, shapes, strict=True))

    @abstractmethod
    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        """The shape of the result before its axes are put in order, for what it sees of its inputs."""

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        seen = self.seen(shapes)
        result = self.result_shape(tuple(shape for shape in seen if shape is not None))
        return (tuple(result[axis] for axis in self.result_axes) if self.result_axes else result,)

    def reading(self: R, index: int, port: Port, part: Part) -> R:
        """The primitive with another input, of which it sees a part."""
        parts = [*self.parts, *(None,) * (index + 1 - len(self.parts))]
        parts[index] = part
        return replace(self, inputs=(*self.inputs[:index], port, *self.inputs[index + 1:]), parts=tuple(parts))

    def part(self, index: int, rank: int) -> Part:
        """What it sees of an input of that rank."""
        part = self.parts[index] if index < len(self.parts) else None
        return part or Part.whole(rank)


@dataclass(frozen=True)
class PartsProblem(Problem):
    """A primitive that reads parts."""

    primitive: ReadsParts


def seen_input(problem: PartsProblem, index: int) -> TensorView:
    """What the primitive sees of an input."""
    layout = problem.inputs[index]
    return part_view(problem.primitive.part(index, layout.rank), TensorView.of(layout))


def seen_result(problem: PartsProblem) -> TensorView:
    """The output with its axes as the result has them."""
    return in_result_order(problem, TensorView.of(problem.outputs[0]))


def in_result_order(problem: PartsProblem, view: TensorView) -> TensorView:
    """A view with the axes of the output, as the result has them."""
    axes = problem.primitive.result_axes
    return view.permute(tuple(axes.index(axis) for axis in range(view.rank))) if axes else view


def places_in_turn(output: Layout, before: Layout, axis: int) -> tuple[TensorView, ...]:
    """The places in an output of what comes first along an axis, which lies as `before` does, and of what comes behind
    it; open ones while that is not known."""
    first, both = before.shape[axis], output.shape[axis]
    rest = both - first if isinstance(first, int) and isinstance(both, int) else both
    return tuple(open_view(output.element_type, output.rank) if place is None
                 else index_view(TensorView.of(output), place)
                 for place in along_axis_in_turn(output.rank, axis, (first, rest)))
