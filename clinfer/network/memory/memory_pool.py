"""The memory pool of a network: the slots of its program, in as few chunks of device memory as possible.

Slots that do not depend on each other may lie in the same place. Where they lie is decided when one of them has to
grow; as long as they are large enough, nothing is moved.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.network.memory.memory_planner import MemoryPlan, MemoryPlanner, Place
from clinfer.network.memory.preallocation import Preallocation
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory

_SPARE = 1.2
"""Slots keep sizes that they once needed as long as the pool has at most that many times what one execution needs."""

Needs = Sequence[tuple[int, int]]
"""(slot, bytes)."""

_Sizes = dict[int, int]


class MemoryPool:
    """Memory for the slots of one network. One thread at a time."""

    def __init__(self, program: Program, preallocation: Preallocation) -> None:
        capabilities = program.engine.capabilities
        self._program = program
        self._preallocation = preallocation
        self._unit = capabilities.buffer_alignment
        self._may_overlap = capabilities.overlapping_parts
        self._memory_planner = MemoryPlanner(program.dependencies, program.first_scratch, capabilities.max_alloc_size,
                                  self._may_overlap)
        self._history: deque[Needs] = deque(maxlen=3 * len(program.segments))
        self._most_needed = 0
        self._chunks: list[Memory] = []
        self._places: dict[int, Place] = {}
        self._parts: dict[int, Memory] = {}
        self._capacity = [-1] * len(program.dependencies)
        self.is_split = False
        """Whether slots lie apart because others had to stay where they were; the next `fit` with none `held`
        mends it."""

    @property
    def nbytes(self) -> int:
        """Bytes of device memory held."""
        return sum(chunk.capacity for chunk in self._chunks)

    def memory(self, slot: int) -> Memory | None:
        """The memory of a slot, at least as large as the largest size that was made room for."""
        return self._parts.get(slot)

    def holds(self, needs: Needs) -> bool:
        """Whether these slots are large enough."""
        capacity = self._capacity
        return all(capacity[slot] >= nbytes for slot, nbytes in needs)

    def fit(self, needs: Needs, held: Collection[int]) -> dict[int, int]:
        """Make these slots large enough; the slots that lie elsewhere now, whose contents are lost, with the bytes
        that they had.

        `held` slots keep their memory and contents. After an error only they are left.
        """
        self._history.append(needs)
        is_enough, mends = self.holds(needs), self.is_split and not held
        if is_enough and not mends:
            return {}
        had = [max(nbytes, 0) for nbytes in self._capacity]
        return {slot: had[slot] for slot in self._plan_again(needs, held, mends, is_enough)}

    def release(self) -> None:
        """Give everything back."""
        self._keep({})
        self._history.clear()
        self._most_needed = 0

    def _plan_again(self, needs: Needs, held: Collection[int], mends: bool, is_enough: bool) -> list[int]:
        """Arrange the slots anew, in the chunks that are there if they fit and nothing `mends` them; those that lie
        elsewhere now."""
        sizes = dict(needs)
        fixed = {slot: self._places[slot] for slot in held if slot in self._places}
        kept = {slot: self._capacity[slot] for slot in self._parts}
        exact = kept | {slot: self._rounded(n) for slot, n in sizes.items() if slot not in fixed}
        recent = self._recent()
        steady = {slot for slot, each in recent.items() if slot not in fixed and self._preallocation.steady_step(each)}
        # Those that grow steadily are not waited for: all would have to lie elsewhere again when the next is too small.
        ahead = {slot: max(self._rounded(self._preallocation.expected(recent[slot])), n)
                 if slot in recent and (n > kept.get(slot, 0) or slot in steady) else n for slot, n in exact.items()}
        wanted = {slot: max(n, kept.get(slot, 0)) for slot, n in ahead.items()}
        if mends and is_enough and self._fresh(wanted) >= self.nbytes:
            self.is_split = False
            return []
        present = [chunk.capacity for chunk in self._chunks]
        # Nor are they squeezed in, since they would have to move again the next time.
        for tried in () if mends else (wanted,) if steady or wanted == exact else (wanted, exact):
            found = self._memory_planner.plan_memory(tried, present, fixed, may_add=False)
            if found is not None and (tried is wanted or held or not self._has_operation_for(wanted, exact)):
                return self._move(found, tried)
        return self._grow(exact, ahead, wanted, fixed)

    def _has_operation_for(self, wanted: _Sizes, exact: _Sizes) -> bool:
        """Whether the pool may grow so that slots keep sizes that they once needed, and need not move again."""
        self._most_needed = max(self._most_needed, self._fresh(exact))
        return self._fresh(wanted) <= _SPARE * self._most_needed

    def _fresh(self, sizes: _Sizes) -> int:
        """The bytes of a pool that is made for slots of these sizes."""
        found = self._memory_planner.plan_memory(sizes, (), {}, may_add=True)
        return 0 if found is None else found.nbytes

    def _recent(self) -> dict[int, list[int]]:
        """The last three sizes of each slot that was needed lately."""
        recent: dict[int, list[int]] = {}
        for needs in self._history:
            for slot, nbytes in needs:
                recent.setdefault(slot, []).append(nbytes)
        return {slot: sizes[-3:] for slot, sizes in recent.items()}

    def _rounded(self, nbytes: int) -> int:
        return -(-max(nbytes, 1) // self._unit) * self._unit

    def _grow(self, exact: _Sizes, ahead: _Sizes, wanted: _Sizes, fixed: Mapping[int, Place]) -> list[int]:
        """Arrange the slots in other chunks; those in which fixed slots lie stay."""
        fixed = self._keep(fixed)
        chunks = [chunk.capacity for chunk in self._chunks]

        def arranged(sizes: _Sizes) -> tuple[MemoryPlan, _Sizes]:
            found = self._memory_planner.plan_memory(sizes, chunks, fixed, may_add=True)
            assert found is not None
            return found, sizes

        needed = arranged(exact)
        chosen = needed if wanted == exact else arranged(wanted)
        self._most_needed = max(self._most_needed, needed[0].nbytes)
        if chosen[0].nbytes > _SPARE * self._most_needed:
            chosen = arranged(ahead)
        try:
            self._add_chunks(*chosen)
        except ClinferError:
            # Room ahead of need is no reason to fail.
            chosen = needed
            self._add_chunks(*chosen)
        self.is_split = bool(fixed) and len(self._chunks) > len(chunks)
        return self._move(*chosen)

    def _keep(self, fixed: Mapping[int, Place]) -> dict[int, Place]:
        """Give back all chunks but those in which fixed slots lie; the places of these among the chunks that stay."""
        for slot in self._parts.keys() - fixed.keys():
            self._give_up(slot)
        numbers = sorted({chunk for chunk, _ in fixed.values()})
        for number, chunk in enumerate(self._chunks):
            if number not in numbers:
                chunk.release()
        self._chunks = [self._chunks[number] for number in numbers]
        self._places = {slot: (numbers.index(chunk), offset) for slot, (chunk, offset) in fixed.items()}
        self.is_split = False
        return dict(self._places)

    def _add_chunks(self, memory_plan: MemoryPlan, sizes: _Sizes) -> None:
        there = len(self._chunks)
        try:
            for number, nbytes in enumerate(memory_plan.chunks[there:], there):
                slots = [slot for slot, (chunk, _) in memory_plan.places.items() if chunk == number]
                self._chunks.append(self._program.engine.allocate_bytes(nbytes, self._name(slots, sizes)))
        except ClinferError:
            while len(self._chunks) > there:
                self._chunks.pop().release()
            raise

    def _name(self, slots: list[int], sizes: _Sizes) -> str:
        """How errors name a chunk."""
        largest = max(slots, key=lambda slot: sizes[slot])
        tensor = next((str(t.port) for t in self._program.tensors if t.slot == largest), "a scratch buffer")
        return f"memory of {len(slots)} tensors, of which {tensor} is the largest with {sizes[largest]} bytes,"

    def _give_up(self, slot: int) -> None:
        """Forget where a slot lies."""
        part = self._parts.pop(slot)
        self._capacity[slot] = -1
        if self._may_overlap:
            part.release()

    def _move(self, memory_plan: MemoryPlan, sizes: _Sizes) -> list[int]:
        """Make the slots' memories; those that are others now."""
        moved = []
        for slot, nbytes in sizes.items():
            place, part = memory_plan.places[slot], self._parts.get(slot)
            if part is not None and self._places[slot] == place and self._capacity[slot] == nbytes:
                continue
            if part is not None:
                self._give_up(slot)
            chunk = self._chunks[place[0]]
            self._parts[slot] = chunk.part(place[1], nbytes) if self._may_overlap else chunk
            self._places[slot] = place
            self._capacity[slot] = nbytes
            moved.append(slot)
        for slot in moved if knobs.debug_level() >= 6 else ():
            log(6, f"slot {slot}: {self._capacity[slot]} bytes at {self._places[slot][1]} of chunk "
                   f"{self._places[slot][0]}")
        return moved
