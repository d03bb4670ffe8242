"""The ReverseSequence primitive (OpenVINO ReverseSequence-1)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.symbolic.dimensions import same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ReverseSequence(Primitive):
    """Input 0 with the first n elements along `seq_axis` backwards; input 1 has an n for each place of `batch_axis`."""

    batch_axis: int = 0
    seq_axis: int = 1
    op_type: ClassVar[str] = "ReverseSequence"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, counts = shapes
        if data is None or counts is None or len(data) < 2 or len(counts) != 1:
            return None
        axis, other = (each + len(data) if each < 0 else each for each in (self.batch_axis, self.seq_axis))
        if not (0 <= axis < len(data) and 0 <= other < len(data)):
            return None
        batch = same_size((data[axis], counts[0]))
        return None if batch is None else ((*data[:axis], batch, *data[axis + 1:]),)
