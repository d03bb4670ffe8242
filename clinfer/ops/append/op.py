"""The Append primitive, made by the pass turn_into_caches."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.ops.shared.parts import ReadsParts
from clinfer.ops.shared.shape_rules import joined
from clinfer.symbolic.shape_inference import Values


@dataclass(frozen=True)
class Append(ReadsParts):
    """Input 1 and behind it, along `axis` (from 0), input 0, of which it can read a part."""

    axis: int = 0

    part_inputs: ClassVar[tuple[int, ...]] = (0,)

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        data, *_ = seen
        return data

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        result = super().infer_shapes(shapes[:1], values)
        own, before = None if result is None else result[0], shapes[1]
        if own is None or before is None:
            return None
        whole = joined([before, own], self.axis)
        return None if whole is None else (whole,)
