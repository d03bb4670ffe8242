"""The memory pool of a network: the slots of its program, in as few chunks of device memory as possible.

Slots that do not depend on each other may lie in the same place. Where they lie is decided when one of them has to
grow; as long as they are large enough, nothing is moved.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import gt

import numpy as np

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.network.memory.memory_planner import MemoryPlan, MemoryPlanner, Place
from clinfer.network.memory.preallocation import RECENT, Preallocation, SizeHistory, sizes_of
from clinfer.network.memory.slot_bytes import Needs, rows_of
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory

_SPARE = 1.2
"""Slots keep sizes that they once needed as long as the pool has at most that many times what one execution needs, or
is small."""

SETTLED_AFTER = 8
"""Executions in a row of known shapes, after which these count more than room for others."""

_Sizes = dict[int, int]


@dataclass
class _Chunk:
    """A buffer, and the memories of slots that begin in it, by their first bytes; each reaches to its end."""

    memory: Memory
    parts: dict[int, Memory] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return self.memory.capacity

    def part(self, offset: int) -> Memory:
        """All behind `offset`: what begins at one place shares one memory, which making and giving back costs."""
        return self.parts.get(offset) or self.parts.setdefault(
            offset, self.memory.part(offset) if offset else self.memory)


class MemoryPool:
    """Memory for the slots of one network. One thread at a time."""

    def __init__(self, program: Program, preallocation: Preallocation) -> None:
        capabilities = program.engine.capabilities
        self._program = program
        self._preallocation = preallocation
        self._unit = capabilities.buffer_alignment
        self._memory_planner = MemoryPlanner(program.dependencies, program.first_scratch, capabilities.max_alloc_size,
                                             capabilities.overlapping_parts)
        self._history = SizeHistory(len(program.dependencies), RECENT * len(program.segments))
        self._most_needed = 0
        self._chunks: list[_Chunk] = []
        self.nbytes = 0
        """Bytes of device memory held."""
        self._places: dict[int, Place] = {}
        self._parts: dict[int, Memory] = {}
        self._capacity = [-1] * len(program.dependencies)
        self.is_split = False
        """Whether slots lie apart because others had to stay where they were; the next `fit` with none `held`
        mends it."""
        self.is_loose = False
        """Whether slots have room for likely sizes, and lie farther apart than executions needed."""
        self._needed: dict[Sequence[int], Sequence[int]] = {}
        """The most that executions needed of slots while these were loose, in rows as plans have them."""
        self._settled = 0

    def memory(self, slot: int) -> Memory | None:
        """The memory in which a slot begins; of slots at one place it is the same one."""
        return self._parts.get(slot)

    def capacity(self, slot: int) -> int:
        """The bytes of a slot; 0 if it has none."""
        return max(self._capacity[slot], 0)

    def holds(self, needs: Needs) -> bool:
        """Whether these slots are large enough."""
        return not any(_are_more(needs, self._capacity))

    def takes(self, needs: Needs) -> bool:
        """Whether an execution that needs that may leave all slots as they are; noted as `fit` does if so."""
        if self.is_split or not self.holds(needs):
            return False
        self._note(needs)
        return True

    def fit(self, needs: Needs, held: Collection[int], tightens: bool = False) -> dict[int, int]:
        """Make these slots large enough; the slots that lie elsewhere or have other sizes now, whose contents are
        lost, with the bytes that they had.

        `held` slots keep their memory and contents. After an error only they are left. Where it `tightens` and none
        are held, slots that are loose lie as close from now on as what executions needed allows.
        """
        self._note(needs)
        is_enough, mends = self.holds(needs), self.is_split and not held
        tighter = self.is_loose and is_enough and tightens and not held
        if is_enough and not mends and not tighter:
            return {}
        had = self._capacity.copy()
        moved = self._tighten() if tighter else self._plan_again(needs, held, mends, is_enough)
        return {slot: max(had[slot], 0) for slot in moved}

    def _note(self, needs: Needs) -> None:
        self._history.add(needs)
        if self.is_loose:
            slots, nbytes = rows_of(needs)
            self._needed[slots] = tuple(map(max, self._needed.get(slots, nbytes), nbytes))

    def settles(self, is_new: bool) -> bool:
        """Told of each execution whether its shapes are new: whether slots that are loose may `fit` tighter now."""
        self._settled = 0 if is_new else self._settled + 1
        return self.is_loose and self._settled >= SETTLED_AFTER

    def make_room(self, needs: Needs) -> list[int]:
        """Be as after an execution that needed that, while there are no slots; which there are now."""
        exact, *_ = self._sizes(needs, ())
        self._most_needed = self._taken(exact)
        # What shares whole allocations begins where these do, however large they are.
        self.is_loose = self._memory_planner.may_overlap
        return self._grow(exact, exact, exact, {})

    def bound(self, needs: Needs) -> int:
        """Bytes that an execution which needs that takes at least."""
        exact, *_ = self._sizes(needs, ())
        return self._memory_planner.bound(exact)

    def release(self) -> None:
        """Give everything back."""
        self._keep({})
        self._history.clear()
        self._most_needed, self.is_loose = 0, False

    def _tighten(self) -> list[int]:
        """Arrange the slots anew in the chunks that are there, without room for more than executions needed, because
        caches then hold more of them; those that lie elsewhere now."""
        most = np.full(len(self._capacity), -1, np.int64)
        for slots, nbytes in self._needed.items():
            np.maximum.at(most, list(slots), nbytes)
        needed = np.flatnonzero(most >= 0)
        sizes = dict(zip(needed.tolist(), self._rounded(most[needed]).tolist(), strict=True))
        self.is_loose = False
        self._needed = {}
        found = self._memory_planner.plan_memory(sizes, [chunk.nbytes for chunk in self._chunks], {}, may_add=False)
        if found is None:
            return []
        for slot in self._parts.keys() - sizes.keys():
            self._give_up(slot)
            del self._places[slot]
        return self._move(found, sizes)

    def _plan_again(self, needs: Needs, held: Collection[int], mends: bool, is_enough: bool) -> list[int]:
        """Arrange the slots anew, in the chunks that are there if they fit and nothing `mends` them: those that are too
        small where they are few, else all; those that lie elsewhere now."""
        fixed = {slot: self._places[slot] for slot in held if slot in self._places}
        exact, ahead, wanted, has_steady = self._sizes(needs, fixed)
        bound = self._memory_planner.bound
        if mends and is_enough and self._fresh(wanted) >= self.nbytes:
            self.is_split = False
            return []
        self._most_needed = max(self._most_needed, self._taken(exact))
        present = [chunk.nbytes for chunk in self._chunks]
        staying = {slot: place for slot, place in self._places.items() if wanted[slot] == self._capacity[slot]}
        if not mends and len(staying) * 2 > len(wanted):
            found = self._memory_planner.plan_memory(wanted, present, staying, may_add=False)
            if found is not None:
                return self._move(found, wanted)
        # Those that grow steadily are not squeezed in, since they would have to move again the next time.
        for tried in () if mends else (wanted,) if has_steady or wanted == exact else (wanted, exact):
            found = self._memory_planner.plan_memory(tried, present, fixed, may_add=False)
            if found is not None and (tried is wanted or held or not self._may_have(bound(wanted))):
                return self._move(found, tried)
        return self._grow(exact, ahead, wanted, fixed)

    def _sizes(self, needs: Needs, fixed: Collection[int]) -> tuple[_Sizes, _Sizes, _Sizes, bool]:
        """The sizes of slots: what they need, with room ahead of need, and with what they have already; whether any
        grows steadily."""
        kept = np.array(self._capacity, np.int64)
        exact = sizes_of(needs, len(kept))
        exact[exact >= 0] = self._rounded(exact[exact >= 0])
        exact = np.where(exact < 0, kept, exact)
        exact[list(fixed)] = kept[list(fixed)]
        recent = self._history.recent()
        steady = self._preallocation.steady_steps(recent) > 0
        steady[list(fixed)] = False
        # Those that grow steadily are not waited for: all would have to lie elsewhere again when the next is too small.
        grows = (recent[-1] >= 0) & ((exact > kept) | steady)
        ahead = np.where(grows, np.maximum(self._rounded(self._preallocation.expected_of_each(recent)), exact), exact)
        there = np.flatnonzero(exact >= 0)
        slots = there.tolist()
        one, other, most = (dict(zip(slots, sizes[there].tolist(), strict=True))
                            for sizes in (exact, ahead, np.maximum(ahead, kept)))
        return one, other, most, bool(steady.any())

    def _may_have(self, nbytes: int) -> bool:
        """Whether the pool may have so many bytes, so that slots keep sizes that they once needed."""
        return nbytes <= max(_SPARE * self._most_needed, self._preallocation.kept)

    def _taken(self, sizes: _Sizes) -> int:
        """Bytes that an execution takes which needs exactly that: where slots share whole chunks, more than those that
        are apart hold."""
        planner = self._memory_planner
        return planner.bound(sizes) if planner.may_overlap else self._fresh(sizes)

    def _fresh(self, sizes: _Sizes) -> int:
        """The bytes of a pool that is made for slots of these sizes."""
        found = self._memory_planner.plan_memory(sizes, (), {}, may_add=True)
        return 0 if found is None else found.nbytes

    def _rounded(self, nbytes: np.ndarray) -> np.ndarray:
        return -(-np.maximum(nbytes, 1) // self._unit) * self._unit

    def _grow(self, exact: _Sizes, ahead: _Sizes, wanted: _Sizes, fixed: Mapping[int, Place]) -> list[int]:
        """Arrange the slots in other chunks; those in which fixed slots lie stay."""
        before = self.nbytes
        fixed = self._keep(fixed)
        chunks = [chunk.nbytes for chunk in self._chunks]

        def arranged(sizes: _Sizes) -> MemoryPlan:
            found = self._memory_planner.plan_memory(sizes, chunks, fixed, may_add=True)
            assert found is not None
            return found

        sizes = wanted if self._may_have(self._memory_planner.bound(wanted)) else ahead
        chosen = arranged(sizes)
        if sizes is wanted and not self._may_have(chosen.nbytes):
            sizes, chosen = ahead, arranged(ahead)
        try:
            self._add_chunks(chosen, sizes, self._preallocation.in_place_of(before))
        except ClinferError:
            # Room ahead of need is no reason to fail.
            sizes, chosen = exact, arranged(exact)
            self._add_chunks(chosen, sizes)
        self.is_split = bool(fixed) and len(self._chunks) > len(chunks)
        return self._move(chosen, sizes)

    def _keep(self, fixed: Mapping[int, Place]) -> dict[int, Place]:
        """Give back all chunks but those in which fixed slots lie; the places of these among the chunks that stay."""
        for slot in self._parts.keys() - fixed.keys():
            self._give_up(slot)
        numbers = sorted({chunk for chunk, _ in fixed.values()})
        for number, chunk in enumerate(self._chunks):
            if number not in numbers:
                chunk.memory.release()
        self._chunks = [self._chunks[number] for number in numbers]
        self._count_bytes()
        self._places = {slot: (numbers.index(chunk), offset) for slot, (chunk, offset) in fixed.items()}
        self.is_split = False
        return dict(self._places)

    def _add_chunks(self, memory_plan: MemoryPlan, sizes: _Sizes, least: int = 0) -> None:
        """Allocate what a plan needs; of a single chunk at least that many bytes, as far as one may have them."""
        there = len(self._chunks)
        needed = memory_plan.chunks[there:]
        if len(memory_plan.chunks) == 1:
            needed = tuple(max(nbytes, min(least, self._memory_planner.limit)) for nbytes in needed)
        try:
            for number, nbytes in enumerate(needed, there):
                slots = [slot for slot, (chunk, _) in memory_plan.places.items() if chunk == number]
                memory = self._program.engine.allocate_bytes(nbytes, self._name(slots, sizes))
                self._chunks.append(_Chunk(memory))
        except ClinferError:
            while len(self._chunks) > there:
                self._chunks.pop().memory.release()
            raise
        finally:
            self._count_bytes()

    def _count_bytes(self) -> None:
        self.nbytes = sum(chunk.nbytes for chunk in self._chunks)

    def _name(self, slots: list[int], sizes: _Sizes) -> str:
        """How errors name a chunk."""
        largest = max(slots, key=lambda slot: sizes[slot])
        tensor = next((str(t.port) for t in self._program.tensors if t.slot == largest), "a scratch buffer")
        return f"memory of {len(slots)} tensors, of which {tensor} is the largest with {sizes[largest]} bytes,"

    def _give_up(self, slot: int) -> None:
        """Forget where a slot lies."""
        del self._parts[slot]
        self._capacity[slot] = -1

    def _move(self, memory_plan: MemoryPlan, sizes: _Sizes) -> list[int]:
        """Let the slots lie there; those whose place or size is another now."""
        moved = []
        for slot, nbytes in sizes.items():
            place = memory_plan.places[slot]
            if slot in self._parts and self._places[slot] == place and self._capacity[slot] == nbytes:
                continue
            self._parts[slot] = self._chunks[place[0]].part(place[1])
            self._places[slot] = place
            self._capacity[slot] = nbytes
            moved.append(slot)
        for number, chunk in enumerate(self._chunks):
            used = {offset for its, offset in self._places.values() if its == number}
            chunk.parts = {offset: part for offset, part in chunk.parts.items() if offset in used}
        for slot in moved if knobs.debug_level() >= 6 else ():
            log(6, f"slot {slot}: {self._capacity[slot]} bytes at {self._places[slot][1]} of chunk "
                   f"{self._places[slot][0]}")
        return moved


def _are_more(needs: Needs, sizes: Sequence[int]) -> Iterable[bool]:
    """Of each need whether it is larger than the size that its slot has."""
    slots, nbytes = rows_of(needs)
    return map(gt, nbytes, map(sizes.__getitem__, slots))
