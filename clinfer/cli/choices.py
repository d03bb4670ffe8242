"""Options whose value is one of a few words."""
from __future__ import annotations

from enum import Enum


class Precision(str, Enum):
    """What floats are computed in."""

    f32 = "f32"
    f16 = "f16"
    bf16 = "bf16"


class Sorting(str, Enum):
    """How primitives are sorted: by device time or host time, the most first; as they run; or by a name."""

    time = "time"
    host = "host"
    order = "order"
    type = "type"
    kernel = "kernel"
    name = "name"
