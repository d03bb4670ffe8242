"""The ExtractImagePatches primitive (OpenVINO ExtractImagePatches-3)."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, cast

from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, StaticShape
from clinfer.ops.shared.spatial import reach
from clinfer.symbolic.dimensions import is_open
from clinfer.symbolic.shape_inference import Values
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

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or len(data) != 4 or is_open(data):
            return None
        batch, channels, *pixels = cast("StaticShape", data)
        counts = [count for axis, size in enumerate(pixels) if (count := self._count(axis, size)) is not None]
        return ((batch, channels * prod(self.sizes), *counts),) if len(counts) == 2 else None

    def _count(self, axis: int, size: int) -> int | None:
        """The windows along a spatial axis; None if it is smaller than one."""
        stride, window = self.strides[axis], reach(self.sizes[axis], self.rates[axis])
        if self.auto_pad.startswith("same"):
            return -(-size // stride)
        return None if size < window else (size - window) // stride + 1

    def pad(self, axis: int, size: int) -> int:
        """The zeros before a spatial axis of that size."""
        if not self.auto_pad.startswith("same"):
            return 0
        stride, window = self.strides[axis], reach(self.sizes[axis], self.rates[axis])
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        return (total + (self.auto_pad == "same_lower")) // 2
