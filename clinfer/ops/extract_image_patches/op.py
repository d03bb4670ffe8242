"""The ExtractImagePatches primitive (OpenVINO ExtractImagePatches-3)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.ops.shared.spatial import reach
from clinfer.topology import Primitive


@dataclass(frozen=True)
class ExtractImagePatches(Primitive):
    """Windows of `sizes`, with `rates` between their pixels and `strides` between them, of input 0 [n, c, h, w].

    The output is [n, sizes * c, rows, columns]; its channel is (place in the window, row-major; channel). `auto_pad`
    "same_upper" and "same_lower" put zeros around, so that every step of the strides has a window.
    """

    sizes: tuple[Positive, Positive] = (1, 1)
    strides: tuple[Positive, Positive] = (1, 1)
    rates: tuple[Positive, Positive] = (1, 1)
    auto_pad: str = "valid"
    op_type: ClassVar[str] = "ExtractImagePatches"
    opset: ClassVar[str] = "opset3"

    def pad(self, axis: int, size: int) -> int:
        """The zeros before a spatial axis of that size."""
        if not self.auto_pad.startswith("same"):
            return 0
        stride, window = self.strides[axis], reach(self.sizes[axis], self.rates[axis])
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        return (total + (self.auto_pad == "same_lower")) // 2
