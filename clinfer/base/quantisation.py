"""Operands whose elements are stored as whole numbers of few bits."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.schema import Natural

CODEBOOK_SIZE = 16
"""The numbers of a codebook: one for each that 4 bits hold."""


@dataclass(frozen=True)
class Quantisation:
    """An operand of a primitive stands for (stored number - zero point) * scale, or, if there is a `codebook` of
    `CODEBOOK_SIZE` numbers, for codebook[stored number] * scale.

    `scale`, `zero_point`: the inputs of the primitive that hold them (None: all zero points are 0). Both are
    [groups, N], where a group is so many consecutive elements along the axis that a product adds up: one group for
    scales per column, as many as there are groups otherwise.
    """

    scale: Natural
    zero_point: Natural | None = None
    codebook: tuple[float, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that belong to the operand."""
        return (self.scale,) if self.zero_point is None else (self.scale, self.zero_point)
