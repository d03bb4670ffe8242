"""What is known of the tensors of one execution so far."""
from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field

import numpy as np

from clinfer.base.shape import StaticShape


@dataclass(frozen=True)
class Known:
    """By the indices of tensors: their shapes, and the values of those that the host knows. It grows step by step, by
    the shapes that plans tell."""

    shapes: ChainMap[int, StaticShape] = field(default_factory=ChainMap)
    values: dict[int, np.ndarray] = field(default_factory=dict)
