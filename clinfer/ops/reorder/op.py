"""The reorder primitive, which no model contains: passes and hand-made topologies put it in."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Reorder(Primitive):
    """Input 0 in the format of that name, with `output_padding`; the logical shape stays.

    `element_type` names another type (values are converted as C does); empty keeps the input's.
    """

    format: str = "bfyx"
    element_type: str = ""

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (shapes[0],)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.element_type) if self.element_type else input_types[0],)
