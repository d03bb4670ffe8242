"""The conversion primitive (OpenVINO Convert-1, ConvertLike-1)."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode

_SIZE_BITS = 32
"""Integers of so many bits hold any size."""


@dataclass(frozen=True)
class Convert(Primitive):
    """Input 0 as `destination_type`: floats are truncated towards zero, boolean is "not zero",
    and 4-bit types keep the low bits."""

    destination_type: str = "f32"

    @property
    def can_evaluate(self) -> bool:
        return True

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def rounds(self) -> bool:
        return True

    def fused_text(self, types: tuple[ElementType, ...]) -> str | None:
        """Between floats nothing is done but to round."""
        return "a" if types[0].is_float and ElementType.of(self.destination_type).is_float else None

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.destination_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return (shapes[0],)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        """Sizes that are not known yet (`Primitive.infer_shapes`) are handed on."""
        target = ElementType.of(self.destination_type)
        if values[0].dtype == object and not target.is_float and target.bits >= _SIZE_BITS:
            return values
        way = way_between(values[0].dtype.kind == "f", target)
        with np.errstate(all="ignore"):
            numbers = values[0].astype(way.numpy)
            if target.is_encoded:
                return (target.decode(target.encode(numbers.reshape(-1)), numbers.size).reshape(numbers.shape),)
            return (numbers.astype(target.numpy),)


def way_between(is_float: bool, target: ElementType) -> ElementType:
    """The type by way of which numbers become `target`. Floats become integers by way of a signed one, which wraps
    like OpenVINO's where the target is narrower; boolean is a comparison with 0."""
    if not is_float or target.is_float or target.name == "boolean":
        return target
    return ElementType.of("i32" if target.bits < 32 or target.name == "i32" else "i64")


def convert_convert(node: SourceNode) -> Convert:
    """Of ConvertLike's second input only the type matters."""
    return Convert(node.id, node.inputs[:1], origin=node.name, destination_type=node.output_types[0].name)
