"""Where slots lie in chunks of memory, so that those that must not share memory do not overlap."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

import numpy as np

Place = tuple[int, int]
"""Number of a chunk, offset in bytes."""


@dataclass(frozen=True)
class MemoryPlan:
    """The place of every slot, and the bytes that each chunk must have."""

    places: Mapping[int, Place]
    chunks: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all chunks."""
        return sum(self.chunks)


@dataclass(frozen=True)
class MemoryPlanner:
    """Arranges the slots of a program.

    `dependencies`: for each slot those with which it must not share memory. `first_scratch`: from this number on
    slots hold scratch buffers, in processing order. `limit`: bytes of a chunk at most, unless one slot needs more.
    Unless they `may_overlap`, slots lie at the beginning of chunks, which those share that may lie in one place.
    """

    dependencies: Sequence[Set[int]]
    first_scratch: int
    limit: int
    may_overlap: bool = True

    def plan_memory(self, sizes: Mapping[int, int], chunks: Sequence[int], fixed: Mapping[int, Place],
                may_add: bool) -> MemoryPlan | None:
        """Places for slots of these sizes; None where they do not fit.

        `chunks`: bytes of those that are there; further ones only if it `may_add` them. `fixed` slots stay where
        they are. Of two orders the one that needs less is taken: tensors by descending size and then scratch
        buffers as they are processed, or all by the bytes from which they must keep apart.

        Source: greedy by size and by breadth with best-fit offsets, of Pisarchyk and Lee, "Efficient Memory
        Management for Deep Neural Net Inference", 2020.
        """
        bound = self.bound(sizes)
        if not may_add and bound > sum(chunks):
            return None
        by_size = sorted(sizes, key=lambda s: (s >= self.first_scratch, s if s >= self.first_scratch else -sizes[s]))
        one = self._planned(by_size, sizes, chunks, fixed, may_add)
        if one is not None and (not may_add or one.nbytes <= bound):
            return one
        apart = self._apart(sizes)
        by_breadth = sorted(sizes, key=lambda s: (-apart[s], -sizes[s]))
        other = self._planned(by_breadth, sizes, chunks, fixed, may_add)
        return min((x for x in (one, other) if x is not None), key=lambda x: x.nbytes, default=None)

    def bound(self, sizes: Mapping[int, int]) -> int:
        """Bytes without which slots of these sizes have no places: the most of those that are all apart."""
        every = np.zeros(len(self.dependencies), np.int64)
        every[list(sizes)] = list(sizes.values())
        return int((self._cliques @ every).max(initial=0))

    @cached_property
    def _cliques(self) -> np.ndarray:
        """Sets of slots of which no two may share memory, as rows of 0 and 1: around each slot one that is not part of
        a larger one. Slots in the order in which they are made give those that are alive at a step."""
        apart = [sum(1 << other for other in others) for others in self.dependencies]
        found = set()
        for slot, others in enumerate(self.dependencies):
            clique, common = 1 << slot, apart[slot]
            for other in sorted(others):
                if common >> other & 1:
                    clique |= 1 << other
                    common &= apart[other]
            found.add(clique)
        count = -(-len(apart) // 8)
        rows = np.frombuffer(b"".join(clique.to_bytes(count, "little") for clique in found), np.uint8)
        bits = np.unpackbits(rows.reshape(len(found), count), axis=1, bitorder="little")
        return bits[:, :len(apart)].astype(np.int64)

    def _apart(self, sizes: Mapping[int, int]) -> list[int]:
        """For each slot the bytes of all that must not share memory with it, its own among them."""
        every = np.zeros(len(self.dependencies), np.int64)
        every[list(sizes)] = list(sizes.values())
        slots, others = self._pairs
        found = every.copy()
        np.add.at(found, slots, every[others])
        return found.tolist()

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The slots that must not share memory, by number: one of each pair, and the other."""
        counts = [len(others) for others in self.dependencies]
        others = np.fromiter(chain.from_iterable(self.dependencies), np.int64, sum(counts))
        return np.repeat(np.arange(len(counts)), counts), others

    def _planned(self, order: Sequence[int], sizes: Mapping[int, int], chunks: Sequence[int],
                  fixed: Mapping[int, Place], may_add: bool) -> MemoryPlan | None:
        places = dict(fixed)
        lying: list[dict[int, tuple[int, int]]] = [{} for _ in chunks]
        for slot, (chunk, start) in fixed.items():
            lying[chunk][slot] = start, sizes[slot]
        tops = list(chunks)
        for slot in order:
            if slot in fixed:
                continue
            for chunk in count():
                if chunk == len(tops):
                    if not may_add:
                        return None
                    tops.append(0)
                    lying.append({})
                is_new = chunk >= len(chunks)
                offset = self._lowest(slot, sizes[slot], lying[chunk], 2**62 if is_new else tops[chunk])
                top = -1 if offset is None else offset + sizes[slot]
                if offset is not None and (not is_new or top <= self.limit or not tops[chunk]):
                    places[slot] = chunk, offset
                    lying[chunk][slot] = offset, sizes[slot]
                    tops[chunk] = max(tops[chunk], top)
                    break
        return MemoryPlan(places, tuple(tops))

    def _lowest(self, slot: int, size: int, lying: Mapping[int, tuple[int, int]], end: int) -> int | None:
        """The offset of the smallest gap of a chunk that a slot fits in, or behind all that it keeps apart from; what
        is `lying` there: (offset, bytes)."""
        position, smallest = 0, end + 1
        best: int | None = None
        taken = sorted(map(lying.__getitem__, self.dependencies[slot] & lying.keys()))
        if not self.may_overlap:
            return None if taken or size > end else 0
        for offset, length in taken:
            if size <= offset - position < smallest:
                best, smallest = position, offset - position
            if offset + length > position:
                position = offset + length
        if best is None and position + size <= end:
            best = position
        return best
