"""What is known of the tensors of one execution so far."""
from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field

import numpy as np

from clinfer.base.shape import StaticShape
from clinfer.network.plans.plan import Plan
from clinfer.network.plans.present import PlannedShapes


@dataclass(frozen=True)
class Known:
    """By the indices of tensors: their shapes, and the values of those that the host knows. It grows step by step, by
    what plans tell."""

    shapes: ChainMap[int, StaticShape] = field(default_factory=ChainMap)
    values: ChainMap[int, np.ndarray] = field(default_factory=ChainMap)

    def take(self, plan: Plan) -> None:
        """What a plan tells is known from now on."""
        self.shapes.maps.append(plan.shapes)  # type: ignore[arg-type]
        self.values.maps.append(plan.values)  # type: ignore[arg-type]

    def shapes_of(self, tensors: tuple[int, ...]) -> dict[int, StaticShape]:
        """The shapes of several tensors, as far as they are known."""
        found: dict[int, StaticShape] = {}
        for told in reversed(self.shapes.maps):
            found.update(told.of(tensors) if isinstance(told, PlannedShapes) else [
                (tensor, told[tensor]) for tensor in told.keys() & tensors])
        return found
