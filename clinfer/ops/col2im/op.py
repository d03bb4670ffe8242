"""The Col2Im primitive (OpenVINO Col2Im-15)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clinfer.base.schema import Positive
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Col2Im(Primitive):
    """Images of the size that input 1 gives, summed up from the sliding blocks (of input 2's size) in input 0.

    Input 0 is [channels * block elements, blocks] or has a batch before that; the output has channels, height, width.
    """

    strides: tuple[Positive, Positive] = (1, 1)
    dilations: tuple[Positive, Positive] = (1, 1)
    pads_begin: tuple[int, int] = (0, 0)
    pads_end: tuple[int, int] = (0, 0)
    op_type: ClassVar[str] = "Col2Im"
    opset: ClassVar[str] = "opset15"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2)
