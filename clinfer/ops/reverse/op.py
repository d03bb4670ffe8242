"""The Reverse primitive (OpenVINO Reverse-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Shape
from clinfer.ops.shared.shape_rules import distinct_axes
from clinfer.ops.shared.views import Indexing
from clinfer.symbolic.shape_inference import Values


@dataclass(frozen=True)
class Reverse(Indexing):
    """Input 0 backwards along the axes in input 1: their numbers, or with `mode` "mask" one boolean per axis."""

    mode: str = "index"
    op_type: ClassVar[str] = "Reverse"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def can_evaluate(self) -> bool:
        return True

    def index_of(self, values: Values, rank: int) -> tuple[slice, ...] | None:
        if 1 not in values:
            return None
        given = values[1].reshape(-1)
        axes = np.flatnonzero(given) if self.mode.lower() == "mask" else given
        turned = {int(axis) % rank for axis in axes} if rank else set()
        return tuple(slice(None, None, -1) if axis in turned else slice(None) for axis in range(rank))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or 1 not in values:
            return None
        by_mask = self.mode.lower() == "mask"
        fits = values[1].shape == (len(data),) if by_mask else distinct_axes(values[1], len(data)) is not None
        return (data,) if fits else None

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        index = self.index_of({1: values[1]}, values[0].ndim)
        assert index is not None
        return (np.array(values[0][index], order="C"),)
