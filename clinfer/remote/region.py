"""Where the elements of a tensor lie in a memory: all of it, or a box cut out of it."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show


@dataclass(frozen=True)
class Rows:
    """Some rows of bytes, each of which begins a pitch behind the one before, in two memories."""

    count: int
    nbytes: int
    source_offset: int
    source_pitch: int
    target_offset: int
    target_pitch: int


@dataclass(frozen=True)
class Region:
    """Elements in row-major order: the first one lies at `offset`, neighbours along an axis `pitches` apart (bytes).

    Packed types have dense regions alone, whose pitches mean nothing.
    """

    element_type: ElementType
    shape: StaticShape
    offset: int
    pitches: tuple[int, ...]

    @staticmethod
    def dense(element_type: ElementType, shape: StaticShape, offset: int = 0) -> Region:
        """Elements one behind the other."""
        return Region(element_type, shape, offset, _dense_pitches(element_type, shape))

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the elements, without what lies between them."""
        return self.element_type.byte_size(math.prod(self.shape))

    @cached_property
    def is_dense(self) -> bool:
        """Whether the elements are one run of bytes."""
        return 0 in self.shape or self._run(self) == len(self.shape)

    def cut(self, begin: Sequence[int], end: Sequence[int]) -> Region:
        """The box from `begin` to `end` (not included). Errors: one that is not within the tensor; packed types."""
        rank = len(self.shape)
        values: dict[str, object] = {"shape": show(self.shape), "begin": list(begin), "end": list(end)}
        if not (len(begin) == len(end) == rank and all(
                0 <= low <= high <= size for low, high, size in zip(begin, end, self.shape, strict=True))):
            raise ClinferError("a region must lie within its tensor", where="remote tensor", values=values)
        if self.element_type.is_packed:
            raise ClinferError("tensors whose elements share bytes have no regions", where="remote tensor",
                               values={"element type": self.element_type, **values})
        shape = tuple(high - low for low, high in zip(begin, end, strict=True))
        offset = self.offset + sum(low * pitch for low, pitch in zip(begin, self.pitches, strict=True))
        return Region(self.element_type, shape, offset, self.pitches)

    def rows_to(self, target: Region) -> Iterator[Rows]:
        """How the bytes come to another region of the same shape, in as few blocks of rows as they allow."""
        if 0 in self.shape:
            return
        dense = min(self._run(self), target._run(target))
        outer, inner = self.shape[:len(self.shape) - dense], self.shape[len(self.shape) - dense:]
        nbytes = self.element_type.byte_size(math.prod(inner))
        if not outer:
            yield Rows(1, nbytes, self.offset, nbytes, target.offset, nbytes)
            return
        last = len(outer) - 1
        for place in product(*map(range, outer[:last])):
            yield Rows(outer[last], nbytes, self._at(place), self.pitches[last], target._at(place),
                       target.pitches[last])

    def _at(self, place: tuple[int, ...]) -> int:
        return self.offset + sum(n * pitch for n, pitch in zip(place, self.pitches, strict=False))

    @staticmethod
    def _run(region: Region) -> int:
        """How many of the last axes lie one behind the other."""
        expected = _dense_pitches(region.element_type, region.shape)
        count = 0
        for size, pitch, wanted in zip(*map(reversed, (region.shape, region.pitches, expected)), strict=True):
            if pitch != wanted and size != 1:
                break
            count += 1
        return count


def _dense_pitches(element_type: ElementType, shape: StaticShape) -> tuple[int, ...]:
    return tuple(element_type.byte_size(math.prod(shape[axis + 1:])) for axis in range(len(shape)))
