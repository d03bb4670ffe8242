"""The Unique primitive (OpenVINO Unique-10) and the one that finds what it writes."""
from __future__ import annotations

import math
from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.shape import ANY, UNBOUNDED, Dim, Shape, Size, count_bounds
from clinfer.ops.operation import constant_input
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode


@dataclass(frozen=True)
class FindUnique(Primitive):
    """Tells which elements of input 0, or which slices along `axis`, are equal. n is how many there are.

    The different ones are numbered in their order (`sorted`; slices are compared element by element, NaN
    is above every number and equals itself, -0 equals 0) or in that of their first places.
    Output 0: how many are different, i64 [1]. Outputs 1 to 3, i32 [n], of which 1 and 3 are filled up to
    that number: by number the first place, by place the number, by number how often it occurs.
    """

    axis: int | None = None
    sorted: bool = True

    @property
    def output_count(self) -> int:
        return 4

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return ElementType.of("i64"), *(ElementType.of("i32"),) * 3

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        count = item_count(shapes[0], self.axis)
        return (1,), (count,), (count,), (count,)


@dataclass(frozen=True)
class Unique(Primitive):
    """The different elements of input 0, or slices along `axis`, and what FindUnique (inputs 1 to 4) says of them.

    Output 0: they themselves; 1: the first place of each; 2: by place the number of the element or slice;
    3: how often each occurs.
    """

    axis: int | None = None
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return 4

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        places = item_count(data, self.axis)
        most = places.high if isinstance(places, Dim) else places
        count: Size = values[1].reshape(-1).tolist()[0] if 1 in values else Dim(0, most)
        found: Shape | None = (count,)
        if self.axis is not None:
            found = None if data is None else tuple(
                count if a == self.axis % len(data) else size for a, size in enumerate(data))
        return found, (count,), (places,), (count,)


def item_count(data: Shape | None, axis: int | None) -> Size:
    """How many elements, or slices along the axis, there are."""
    if data is None:
        return ANY
    if axis is not None:
        return data[axis]
    if all(isinstance(size, int) for size in data):
        return math.prod(data)
    return Dim(0, min(count_bounds(data)[1], UNBOUNDED))


def convert_unique(node: SourceNode) -> tuple[Primitive, ...]:
    """The finding primitive, `<id>/find`, and Unique itself."""
    axis = int(constant_input(node, 1).reshape(-1)[0]) if len(node.inputs) > 1 else None
    find = FindUnique(f"{node.id}/find", node.inputs[:1], origin=node.name, axis=axis,
                      sorted=bool(node.attributes["sorted"]))
    found = tuple(Port(find.id, index) for index in range(find.output_count))
    return find, Unique(node.id, (node.inputs[0], *found), origin=node.name, axis=axis, types=node.output_types)
