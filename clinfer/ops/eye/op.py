"""The Eye primitive (OpenVINO Eye-9)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Eye(Primitive):
    """A batch (sizes: input 3; missing: none) of matrices with as many rows and columns as inputs 0 and 1 say.

    They hold ones along the diagonal that input 2 numbers (0: the main one, above 0: to the right of it) and
    zeros elsewhere.
    """

    output_type: str = "f32"
    op_type: ClassVar[str] = "Eye"
    opset: ClassVar[str] = "opset9"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(len(self.inputs)))

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        if len(values) < len(self.inputs):
            return None
        rows, columns, _, *batch = (tuple(values[i].reshape(-1).tolist()) for i in range(len(values)))
        sizes = (*(batch[0] if batch else ()), *rows, *columns)
        if len(rows) != 1 or len(columns) != 1 or any(size < 0 for size in sizes):
            return None
        return (sizes,)
