"""The ShuffleChannels primitive (OpenVINO ShuffleChannels-3)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ShuffleChannels(Primitive):
    """Input 0 with the slices along `axis`, which are `group` groups, in another order: the first of each group, then
    the second of each, and so on."""

    axis: int = 1
    group: Positive = 1
    op_type: ClassVar[str] = "ShuffleChannels"
    opset: ClassVar[str] = "opset3"

    @property
    def only_moves(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or not -len(data) <= self.axis < len(data) or differ(data[self.axis] % self.group, 0):
            return None
        return (data,)
