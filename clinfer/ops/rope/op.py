"""The RoPE primitive, made by the pass fuse_rope."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.base.shape_inference import OpSignature
from clinfer.ops.shared.parts import ReadsParts


@dataclass(frozen=True)
class RoPE(ReadsParts):
    """data * cosine + turned * sine; `turned` is the second half of the data's last axis, negated, then the first.

    Inputs: data [..., E] with an even E, of which it can read a part; cosine and sine, which stretch to the data.
    """

    part_inputs: ClassVar[tuple[int, ...]] = (0,)

    def signature(self) -> OpSignature | None:
        return None

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        data, *factors = seen
        for factor in factors:
            pairs = zip(reversed(factor), reversed(data), strict=False)
            if len(factor) > len(data) or any(
                    isinstance(size, int) and isinstance(whole, int) and size not in (1, whole)
                    for size, whole in pairs):
                raise ClinferError("cosine and sine of rotary positions must stretch to the data", where=self.where,
                                   values={"data": show(data), "factor": show(factor)},
                                   hint="switch the pass fuse_rope off")
        return data
