"""The TopK primitive (OpenVINO TopK-1, TopK-3 and TopK-11)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Dim, Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class TopK(Primitive):
    """The k elements (k: input 1) of input 0 along `axis` that are largest (`mode` "max") or smallest ("min").

    Output 0 holds the elements, output 1 their places along the axis. They stand in the order of their
    values, for `sort` "index" in that of their places. Of equal elements the one that stands first in the
    input comes first, whatever `stable` says. NaN counts as larger than every number; -0 equals 0.
    """

    axis: int = -1
    mode: str = "max"
    sort: str = "value"
    index_element_type: str = "i32"
    stable: bool = False
    op_type: ClassVar[str] = "TopK"
    opset: ClassVar[str] = "opset11"

    @property
    def output_count(self) -> int:
        return 2

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def wants_largest(self) -> bool:
        """Whether the largest elements are meant."""
        return self.mode.lower() == "max"

    @property
    def sorts_by_place(self) -> bool:
        """Whether the elements keep the order of the input."""
        return self.sort.lower() in ("index", "indices", "sort_indices")

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, count = shapes
        if data is None or count or 1 not in values or not -len(data) <= self.axis < len(data):
            return None
        size, axis = values[1].reshape(-1).tolist()[0], self.axis % len(data)
        if isinstance(data[axis], Dim) or not 1 <= size <= data[axis]:
            return None
        return ((*data[:axis], size, *data[axis + 1:]),) * 2

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return input_types[0], ElementType.of(self.index_element_type)
