"""The NonZero primitive (OpenVINO NonZero-3) and the one that counts for it."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.shape import UNBOUNDED, Dim, Shape, Size, count_bounds, is_static
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

CHUNK = 64


@dataclass(frozen=True)
class CountNonZero(Primitive):
    """Output 0: the number of elements of input 0 that are not zero, i64 [1].

    Output 1: for each run of CHUNK elements in row-major order, the number of such elements before
    it, i32 (one run at least, also where there are no elements).
    """

    @property
    def output_count(self) -> int:
        return 2

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return ElementType.of("i64"), ElementType.of("i32")

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (1,), (_chunks(shapes[0]),)


@dataclass(frozen=True)
class NonZero(Primitive):
    """The coordinates of the elements of input 0 that are not zero, row-major, as columns: [rank, count].

    Inputs 1 and 2 are the outputs of CountNonZero on input 0. A scalar has rank 1 here.
    """

    output_type: str = "i64"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,)
        count: Size = values[1].item() if 1 in values else Dim(0, _most(data))
        return ((max(len(data), 1), count),)


def convert_non_zero(node: SourceNode) -> tuple[Primitive, ...]:
    """The counting primitive, `<id>/count`, and NonZero itself."""
    count = CountNonZero(f"{node.id}/count", node.inputs, origin=node.name)
    return count, NonZero(node.id, (*node.inputs, Port(count.id, 0), Port(count.id, 1)), origin=node.name,
                          output_type=node.output_types[0].name)


def _chunks(shape: Shape | None) -> Size:
    if shape is None or not is_static(shape):
        return Dim(1)
    return max(-(-_most(shape) // CHUNK), 1)


def _most(shape: Shape) -> int:
    """The largest number of elements that a shape allows."""
    return min(count_bounds(shape)[1], UNBOUNDED)
