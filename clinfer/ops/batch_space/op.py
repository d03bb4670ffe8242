"""The batch and space primitives (OpenVINO BatchToSpace-2, SpaceToBatch-2)."""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, Size, StaticShape
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class BlockMove(Primitive, ABC):
    """Blocks of the shape that input 1 gives (1 along the batch, axis 0), and what inputs 2 and 3 say stands before and
    behind each axis. The place in its block is the slower part of an element's place in the larger batch."""

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1, 2, 3)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        data = shapes[0]
        if data is None or len(values) < 3:
            return None
        blocks, begins, ends = (values[i].reshape(-1).tolist() for i in (1, 2, 3))
        if any(len(given) != len(data) for given in (blocks, begins, ends)) or min(begins + ends) < 0:
            return None
        if min(blocks) < 1 or blocks[0] != 1 or begins[0] != 0 or ends[0] != 0:
            return None
        sizes = self.sizes_of(data, blocks, [a + b for a, b in zip(begins, ends, strict=True)])
        return None if sizes is None or any(isinstance(size, int) and size < 0 for size in sizes) else (sizes,)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        """OpenVINO's rule takes fewer than no elements around."""
        begins, ends = (values[i].reshape(-1).tolist() for i in (2, 3))
        if any(number < 0 for number in begins + ends):
            raise ClinferError("a negative number of elements cannot stand before or behind the data",
                               where=self.where, values={"before": begins, "behind": ends})

    @abstractmethod
    def sizes_of(self, data: Shape, blocks: list[int], around: list[int]) -> Shape | None:
        """The shape of the output; None where the sizes do not fit. `around`: the elements before and behind."""


@dataclass(frozen=True)
class BatchToSpace(BlockMove):
    """Input 0 with the batch laid out as blocks, and elements cut off around."""

    op_type: ClassVar[str] = "BatchToSpace"
    opset: ClassVar[str] = "opset2"

    def sizes_of(self, data: Shape, blocks: list[int], around: list[int]) -> Shape | None:
        batch: Size = data[0]
        if differ(batch % prod(blocks), 0):
            return None
        wide = [size * block - cut for size, block, cut in zip(data[1:], blocks[1:], around[1:], strict=True)]
        return (batch // prod(blocks), *wide)


@dataclass(frozen=True)
class SpaceToBatch(BlockMove):
    """Input 0 with zeros around it, and the places of its blocks put into the batch; undoes BatchToSpace."""

    op_type: ClassVar[str] = "SpaceToBatch"
    opset: ClassVar[str] = "opset2"

    def sizes_of(self, data: Shape, blocks: list[int], around: list[int]) -> Shape | None:
        wide = [size + pad for size, pad in zip(data, around, strict=True)]
        if any(differ(size % block, 0) for size, block in zip(wide, blocks, strict=True)):
            return None
        return (data[0] * prod(blocks), *(size // block for size, block in zip(wide[1:], blocks[1:], strict=True)))
