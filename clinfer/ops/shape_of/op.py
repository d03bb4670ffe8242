"""The ShapeOf primitive (OpenVINO ShapeOf-1 and ShapeOf-3)."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.symbolic.symbols import array_of
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class ShapeOf(Primitive):
    """The sizes of input 0 as a vector of `output_type` (i64 or i32)."""

    output_type: str = "i64"

    @property
    def can_evaluate(self) -> bool:
        return True

    @property
    def reads_shapes_only(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.output_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (None if shapes[0] is None else (len(shapes[0]),),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data = shapes[0]
        assert data is not None
        return (array_of(data, (len(data),), ElementType.of(self.output_type).numpy),)


def convert_shape_of(node: SourceNode) -> ShapeOf:
    """ShapeOf-1 has no output type: it is i64."""
    return ShapeOf(node.id, node.inputs, origin=node.name, output_type=node.output_types[0].name)
