"""The Concat primitive (OpenVINO Concat-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape, StaticShape
from clinfer.base.shape_inference import Values
from clinfer.ops.shared.static_shapes import joined
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Concat(Primitive):
    """The inputs one behind the other along `axis` (negative counts from the end)."""

    axis: int = 0
    op_type: ClassVar[str] = "Concat"

    @property
    def can_evaluate(self) -> bool:
        return True

    def static_shapes(self, shapes: tuple[StaticShape, ...], values: Values) -> tuple[StaticShape, ...] | None:
        shape = joined(shapes, self.axis)
        return None if shape is None else (shape,)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.concatenate(values, self.axis),)
