"""The Pad primitive (OpenVINO Pad-1, Pad-12)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.shape import Dim, Shape, Size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive

MODES = ("constant", "edge", "reflect", "symmetric")


@dataclass(frozen=True)
class Pad(Primitive):
    """Input 0 with pads_begin (1) and pads_end (2) elements around it; negative ones cut off.

    `pad_mode` says where the new elements come from: input 3 (one element; missing: 0), the edge, or the
    data mirrored without ("reflect") or with ("symmetric") its edge.
    """

    pad_mode: str = "constant"
    op_type: ClassVar[str] = "Pad"
    opset: ClassVar[str] = "opset12"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2)

    @property
    def can_evaluate(self) -> bool:
        return self.pad_mode == "constant"

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        if shapes[0] is None or len(values) < 2:
            return None
        data, begins, ends = shapes[0], values[1].reshape(-1).tolist(), values[2].reshape(-1).tolist()
        if len(begins) != len(data) or len(ends) != len(data):
            return None
        if self.pad_mode != "constant" and not all(map(self._has_source, begins, data, ends)):
            return None
        sizes = tuple(size + (a + b) for a, size, b in zip(begins, data, ends, strict=True))
        return None if any(isinstance(size, int) and size < 0 for size in sizes) else (sizes,)

    def _has_source(self, before: int, size: Size, behind: int) -> bool:
        """Whether an axis has the elements that its padding repeats."""
        most = max(before, behind)
        if isinstance(size, Dim) or min(before, behind) < 0:
            return False
        return most == 0 or size >= {"edge": 1, "reflect": most + 1, "symmetric": most}[self.pad_mode]

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data, begins, ends = values[0], values[1].reshape(-1), values[2].reshape(-1)
        fill = values[3].reshape(()) if len(values) > 3 else 0
        cut = tuple(slice(max(-int(b), 0), size - max(-int(e), 0))
                    for b, e, size in zip(begins, ends, data.shape, strict=True))
        around = [(max(int(b), 0), max(int(e), 0)) for b, e in zip(begins, ends, strict=True)]
        return (np.pad(data[cut], around, constant_values=fill) if data.ndim else data.copy(),)
