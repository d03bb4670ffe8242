"""The Concat primitive (OpenVINO Concat-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import NamedDim, Shape, Size, StaticShape, add_sizes
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

    def named_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """The size along the axis is the sum of the inputs' sizes; any of their names goes for each other one."""
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
            return None
        axis = self.axis % len(known[0])
        return (tuple(add_sizes(sizes) if a == axis else min(sizes, key=_vagueness)
                      for a, sizes in enumerate(zip(*known, strict=True))),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.concatenate(values, self.axis),)


def _vagueness(size: Size) -> int:
    """Less for what says more of a size."""
    return 0 if isinstance(size, int) else 1 if isinstance(size, NamedDim) else 2
