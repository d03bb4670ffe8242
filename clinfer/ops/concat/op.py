"""The Concat primitive (OpenVINO Concat-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape
from clinfer.ops.shared.shape_rules import joined
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Concat(Primitive):
    """The inputs one behind the other along `axis` (negative counts from the end)."""

    axis: int = 0
    op_type: ClassVar[str] = "Concat"

    @property
    def picked_inputs(self) -> tuple[int, ...]:
        return tuple(range(self.own_input_count))

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        known = [shape for shape in shapes if shape is not None]
        shape = joined(known, self.axis) if len(known) == len(shapes) else None
        return None if shape is None else (shape,)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.concatenate(values, self.axis),)
