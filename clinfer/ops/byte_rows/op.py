"""The primitives QuantiseRows and DequantiseRows, see `base/byte_rows.py`."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.byte_rows import TAIL
from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.ops.shared.parts import ReadsParts
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class QuantiseRows(ReadsParts):
    """Floats [..., E], of which it can read a part, as rows of bytes, u8 [..., E + TAIL]; E is known."""

    part_inputs: ClassVar[tuple[int, ...]] = (0,)

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        *rows, size = seen[0]
        assert isinstance(size, int)
        return (*rows, size + TAIL)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("u8"),)


@dataclass(frozen=True)
class DequantiseRows(Primitive):
    """The reverse, as `destination_type`."""

    destination_type: str = "f32"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        shape, = shapes
        assert shape is not None
        *rows, size = shape
        assert isinstance(size, int)
        return ((*rows, size - TAIL),)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.destination_type),)
