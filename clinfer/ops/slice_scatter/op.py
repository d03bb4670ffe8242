"""The SliceScatter primitive (OpenVINO SliceScatter-15)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.shape import Shape
from clinfer.ops.shared.views import Index
from clinfer.ops.slice.op import Slice, sliced
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class SliceScatter(Primitive):
    """Input 0 with input 1 in place of what Slice would take of it with start (2), stop (3), step (4) and axes (5;
    missing: the first ones)."""

    op_type: ClassVar[str] = "SliceScatter"
    opset: ClassVar[str] = "opset15"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(2, len(self.inputs)))

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data, part = shapes[:2]
        if data is None or part is None:
            return None
        cut = sliced(data, self.index_of(values, len(data)))
        return (data,) if cut is not None and len(cut[0]) == len(part) and not any(map(differ, cut[0], part)) else None

    def index_of(self, values: Values, rank: int) -> Index | None:
        """What is replaced, over all axes, or None while a value is unknown."""
        cut = Slice("", (self.inputs[0], *self.inputs[2:]))
        return cut.index_of({index - 1: value for index, value in values.items()}, rank)
