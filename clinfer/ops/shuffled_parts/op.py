"""The primitive that passes put in the place of what shuffles channels between branches (`join_shuffles`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape
from clinfer.ops.shared.shape_rules import joined
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ShuffledParts(Primitive):
    """The inputs one behind the other along axis 1, shuffled as ShuffleChannels does with `group` groups, and cut along
    it into as many outputs as there are `lengths`, of these lengths."""

    group: Positive = 1
    lengths: tuple[Positive, ...] = ()
    op_type: ClassVar[str] = "ShuffledParts"

    @property
    def output_count(self) -> int:
        return len(self.lengths)

    @property
    def picked_inputs(self) -> tuple[int, ...]:
        return tuple(range(self.own_input_count))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        known = [shape for shape in shapes if shape is not None]
        whole = joined(known, 1) if len(known) == len(shapes) else None
        if whole is None:
            return None
        return tuple((whole[0], length, *whole[2:]) for length in self.lengths)
