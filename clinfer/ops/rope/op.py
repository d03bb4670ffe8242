"""The RoPE primitive, made by the pass fuse_rope."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Natural
from clinfer.base.shape import Shape, Size, show
from clinfer.ops.shared.parts import ReadsParts
from clinfer.ops.shared.shape_rules import joined
from clinfer.symbolic.shape_inference import Values


@dataclass(frozen=True)
class RoPE(ReadsParts):
    """a * cosine - b * sine and b * cosine + a * sine for each pair (a, b) of elements along the data's last axis.

    Inputs: data [..., E], of which it can read a part; cosine and sine, which stretch to the first R elements of its
    rows or, if `paired`, have one element for each pair of these. R is `rotated`, E where that is 0, and even. A pair
    is an element of the first half of R and the one at the same place in the second, or, if `interleaved`, two
    neighbours. Elements beyond R are handed on.

    With `behind` there is a fourth input, behind which the output has the result along that axis, as a cache grows.
    """

    interleaved: bool = False
    paired: bool = False
    rotated: int = 0
    behind: Natural | None = None

    part_inputs: ClassVar[tuple[int, ...]] = (0,)

    def width(self, size: Size) -> Size:
        """The last size of what cosine and sine stretch to, for rows of that many elements."""
        rotated = self.rotated or size
        return rotated // 2 if self.paired and isinstance(rotated, int) else rotated

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        result = super().infer_shapes(shapes[:3], values)
        if self.behind is None or result is None:
            return result
        before, own = shapes[3], result[0]
        if before is None or own is None:
            return None
        whole = joined([before, own], self.behind)
        return None if whole is None else (whole,)

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        data, *factors = seen
        target = (*data[:-1], self.width(data[-1]))
        for factor in factors:
            pairs = zip(reversed(factor), reversed(target), strict=False)
            if len(factor) > len(target) or any(
                    isinstance(size, int) and isinstance(whole, int) and size not in (1, whole)
                    for size, whole in pairs):
                raise ClinferError("cosine and sine of rotary positions must stretch to the data", where=self.where,
                                   values={"data": show(data), "factor": show(factor)},
                                   hint="switch the pass fuse_rope off")
        return data
