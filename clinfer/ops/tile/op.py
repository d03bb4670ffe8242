"""The Tile primitive (OpenVINO Tile-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Tile(Primitive):
    """Input 0 repeated along each axis as often as input 1 says; the shorter of both is extended by leading ones."""

    op_type: ClassVar[str] = "Tile"

    @property
    def only_moves(self) -> bool:
        return True

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        if shapes[0] is None or 1 not in values:
            return None
        data, repeats = shapes[0], values[1].reshape(-1).tolist()
        rank = max(len(data), len(repeats))
        sizes, times = (1,) * (rank - len(data)) + data, [1] * (rank - len(repeats)) + repeats
        if any(n < 0 for n in times):
            return None
        return (tuple(size * n for size, n in zip(sizes, times, strict=True)),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        return (np.tile(values[0], tuple(int(n) for n in values[1].reshape(-1))),)
