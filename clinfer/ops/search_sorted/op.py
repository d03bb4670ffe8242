"""The searching primitives (OpenVINO Bucketize-3, SearchSorted-15)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Bucketize(Primitive):
    """For each element of input 0 how many boundaries (input 1, ascending) are below it, or not above it unless
    `with_right_bound`."""

    output_type: str = "i64"
    with_right_bound: bool = True
    op_type: ClassVar[str] = "Bucketize"
    opset: ClassVar[str] = "opset3"

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        return (shapes[0],) if shapes[1] is not None and len(shapes[1]) == 1 else None


@dataclass(frozen=True)
class SearchSorted(Primitive):
    """For each element of input 1 how many elements of its row of input 0 (ascending) are below it, or not above it if
    `right_mode`. Input 0 has one row, or one for each row along the last axis of input 1."""

    right_mode: bool = False
    output_type: str = "i64"
    op_type: ClassVar[str] = "SearchSorted"
    opset: ClassVar[str] = "opset15"

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        rows, data = shapes
        if rows is None or data is None or not rows or not data:
            return None
        if len(rows) > 1 and (len(rows) != len(data) or any(map(differ, rows[:-1], data[:-1]))):
            return None
        return (data,) if len(rows) == 1 else ((*(a if isinstance(a, int) else b for a, b in zip(
            rows[:-1], data[:-1], strict=True)), data[-1]),)
