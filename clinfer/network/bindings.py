"""Kernel objects of a network and the memory that is set as their arguments.

Every kernel argument belongs to one tensor's memory or to one slot. When that memory is replaced,
and only then, the arguments that use it are set again. Tensors that may lie within others are kept by `Aliases`.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat, zip_longest
from operator import attrgetter, le
from types import MappingProxyType
from typing import NamedTuple

from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import COUNTERS_BYTES, BufferRef
from clinfer.kernels.implementation import Implementation, StageImpl
from clinfer.network.memory.aliases import Aliases
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.memory.slot_bytes import Needs
from clinfer.network.memory.state_buffer import StateBuffer
from clinfer.network.output import check_capacity
from clinfer.network.plans.plan import Launch, TensorAlias
from clinfer.network.reports.record import Growth
from clinfer.program.program import Program, ProgramNode, Tensor
from clinfer.runtime.buffer_uses import BufferUses
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import KernelTable
from clinfer.runtime.memory import Memory
from clinfer.runtime.rounds import InTurns, Rounds, Turn

NOTHING: Mapping[int, Memory] = MappingProxyType({})
_HELD, _NBYTES = attrgetter("held"), attrgetter("nbytes")


class Wanted(NamedTuple):
    """Where outputs are to be written, by the roots of their tensors: in memory that is given, and the next values of
    states in theirs."""

    given: Mapping[int, Memory | GrowingBuffer]
    states: Mapping[int, StateBuffer] = MappingProxyType({})

    def with_states(self, states: Mapping[int, StateBuffer]) -> Wanted:
        """The same, where these states want their next values."""
        return Wanted(self.given if self.given.keys().isdisjoint(states) else {
            root: memory for root, memory in self.given.items() if root not in states}, states)

    @property
    def roots(self) -> frozenset[int]:
        """All that are wanted."""
        return frozenset(self.given) | frozenset(self.states)


def number_kernels(program: Program) -> dict[tuple[int, int, int], int]:
    """The numbers in a network's table of (node, implementation, stage)."""
    kernels = ((index, choice, number) for index, node in enumerate(program.nodes)
               for choice, implementation in enumerate(node.implementations)
               for number in range(len(implementation.stages)))
    return {kernel: number for number, kernel in enumerate(kernels)}


class Bindings:
    """One kernel object per stage of each implementation of each node, and their buffers.

    `is_whole`: whether kernels have what is told here. It is not while something is being changed, and it stays so
    when that is interrupted or fails: then these bindings, and the pool, are to be made anew.
    """

    def __init__(self, program: Program, pool: MemoryPool) -> None:
        self.is_whole = False
        self._program = program
        self._pool = pool
        self.kernels = KernelTable()
        self.kernel_nodes: list[int] = []
        self.implementations: list[Implementation] = []
        self.kernel_index = number_kernels(program)
        self._tensor_uses: dict[int, BufferUses] = {}
        self._picture_uses: dict[int, list[BufferUses]] = {}
        self._slot_uses: list[BufferUses] = [BufferUses() for _ in program.dependencies]
        self._slot_memories: dict[int, Memory] = {}
        self._memories: dict[int, Memory] = {}
        self._counters: dict[int, Memory] = {}
        self._specialised: dict[tuple[int, tuple[str, ...]], tuple[int, ...]] = {}
        self._aliases = Aliases(program)
        for index, node in enumerate(program.nodes):
            self._create_kernels(index, node)
        for tensor, memory in program.constant_memory.items():
            self.bind(tensor, memory)
        self.is_whole = True

    def _create_kernels(self, index: int, node: ProgramNode) -> None:
        for implementation in node.implementations:
            for stage in implementation.stages:
                self._create_kernel(index, node, implementation, stage)

    def _create_kernel(self, index: int, node: ProgramNode, implementation: Implementation, stage: StageImpl,
                       apart: Mapping[int, Memory] = NOTHING) -> int:
        """The number of a new kernel object, whose arguments are those of its node; `apart`: inputs that it has
        elsewhere."""
        kernel_id = stage.code.kernel_id
        kernel = self._program.engine.create_kernel(
            self._program.kernels.program(kernel_id), kernel_id,
            frozenset(position for position, buffer in enumerate(stage.buffers) if buffer.kind == "input"))
        self.kernels.add(kernel, len(stage.buffers), len(stage.code.fields) * (8 if stage.code.is_large else 4))
        self.kernel_nodes.append(index)
        self.implementations.append(implementation)
        for position, buffer in enumerate(stage.buffers):
            if buffer.kind == "counters":
                kernel.set_buffer(position, self._counters_of(index))
            elif buffer.kind == "input" and buffer.index in apart:
                kernel.set_buffer(position, apart[buffer.index])
            else:
                self._uses(node, buffer).add(kernel, position)
        return len(self.kernels) - 1

    def _counters_of(self, index: int) -> Memory:
        """The counters of a node, whose stages run one after the other."""
        if index not in self._counters:
            self._counters[index] = self._program.engine.allocate_bytes(COUNTERS_BYTES, "counters", zero=True)
        return self._counters[index]

    def specialised(self, index: int, implementation: Implementation, apart: Mapping[int, Memory]) -> tuple[int, ...]:
        """The numbers of the kernels of a specialised implementation of a node; made when first asked for.

        `apart`: inputs of the node that lie elsewhere for these kernels (weights in another format).
        """
        identity = (index, tuple(stage.code.kernel_id for stage in implementation.stages))
        found = self._specialised.get(identity)
        if found is None:
            was_whole, self.is_whole = self.is_whole, False
            node = self._program.nodes[index]
            found = tuple(self._create_kernel(index, node, implementation, stage, apart)
                          for stage in implementation.stages)
            for kernel, stage in zip(found, implementation.stages, strict=True):
                for position, buffer in enumerate(stage.buffers):
                    if buffer.kind == "counters" or (buffer.kind == "input" and buffer.index in apart):
                        continue
                    memory = self._present(node, buffer)
                    if memory is not None:
                        self.kernels[kernel].set_buffer(position, memory)
            self._specialised[identity] = found
            self.is_whole = was_whole
        return found

    def _present(self, node: ProgramNode, buffer: BufferRef) -> Memory | None:
        """The memory that a kernel's buffer has at present, if it has any."""
        if buffer.kind == "scratch":
            return self._pool.memory(node.scratch_slots[buffer.index])
        tensor = (node.inputs if buffer.kind == "input" else node.outputs)[buffer.index]
        return self._lies(self._program.tensors[tensor])

    def _lies(self, described: Tensor) -> Memory | None:
        """The memory in which a tensor lies at present, if it has any."""
        return self._aliases.memory(described.root) or self._own_memory(described.root)

    def has_room(self, slot: int, nbytes: int) -> bool:
        """Whether a slot's memory has so many bytes."""
        memory = self._pool.memory(slot)
        return nbytes <= (0 if memory is None else memory.capacity)

    def _own_memory(self, root: int) -> Memory | None:
        """The memory of a tensor that lies within no other."""
        described = self._program.tensors[root]
        return self._pool.memory(described.slot) if described.storage == "slot" else self._memories.get(root)

    def _uses(self, node: ProgramNode, buffer: BufferRef) -> BufferUses:
        if buffer.kind == "scratch":
            return self._slot_uses[node.scratch_slots[buffer.index]]
        tensor = (node.inputs if buffer.kind == "input" else node.outputs)[buffer.index]
        described = self._program.tensors[tensor]
        if buffer.picture is not None:
            pictures = self._picture_uses.setdefault(described.root, [])
            pictures += [BufferUses() for _ in range(len(pictures), buffer.picture + 1)]
            return pictures[buffer.picture]
        if described.root in self._aliases.movable:
            return self._aliases.uses(described.root)
        if described.storage == "slot":
            return self._slot_uses[described.slot]
        return self._tensor_uses.setdefault(described.root, BufferUses())

    def same_node(self, one: Launch, other: Launch) -> bool:
        """Whether two launches are stages of one node."""
        return self.kernel_nodes[one.kernel] == self.kernel_nodes[other.kernel]

    def memory(self, tensor: int) -> Memory:
        """The memory in which a tensor lies at present."""
        described = self._program.tensors[tensor]
        memory = self._lies(described)
        if memory is None:
            raise ClinferError("a tensor has no memory yet", where="network",
                               values={"tensor": described.port, "storage": described.storage})
        return memory

    def lying(self, roots: Collection[int]) -> list[Memory]:
        """`memory` of several tensors that are roots."""
        is_plain = self._memories.keys() >= {*roots} and self._aliases.movable.isdisjoint(roots)
        return [*map(self._memories.__getitem__ if is_plain else self.memory, roots)]

    def alias(self, segment: int, aliases: tuple[TensorAlias, ...]) -> None:
        """Let the tensors of a segment lie where its plan says; those that are not among `aliases` in their own
        memory. The memory that they lie in must be there."""
        if self._aliases.has(segment, aliases):
            return
        was_whole, self.is_whole = self.is_whole, False
        self._aliases.alias(segment, aliases, self._own_memory)
        self.is_whole = was_whole

    def bind(self, tensor: int, memory: Memory) -> None:
        """Let a tensor that lies outside the slots (an input, constant, output, body's result) lie here."""
        root = self._program.tensors[tensor].root
        if memory.is_released:
            raise ClinferError("a memory was released while the network still needs it", where="network",
                               values={"tensor": self._program.tensors[root].port})
        present = self._memories.get(root)
        if present is memory:
            return
        was_whole, self.is_whole = self.is_whole, False
        if root in self._tensor_uses and (present is None or not present.shares_buffer(memory)):
            self._tensor_uses[root].set(memory)
        if root in self._picture_uses:
            self._bind_pictures(self._picture_uses[root], memory.pictures)
        self._memories[root] = memory
        self._aliases.replaced(root)
        self.is_whole = was_whole

    def bind_each(self, memories: Mapping[int, Memory]) -> None:
        """`bind` for several tensors that are roots, whose memories are there."""
        if not memories.items() <= self._memories.items():
            for root, memory in memories.items():
                self.bind(root, memory)

    def turns(self, in_turns: Mapping[int, InTurns], kernels: Iterable[Kernel]) -> list[Turn] | None:
        """The arguments of these kernels that are tensors outside the slots, by their roots, which take turns; None
        where that is more than to set each."""
        if any(root in self._picture_uses or self._aliases.concern(root) for root in in_turns):
            return None
        launched = {id(kernel) for kernel in kernels}
        return [Turn(kernel, position, memories) for root, memories in in_turns.items()
                for kernel, position in self._tensor_uses.get(root, ()) if id(kernel) in launched]

    @contextmanager
    def lent(self, rounds: Rounds) -> Iterator[None]:
        """Inside of a `with` arguments take turns; behind it they are what is told here."""
        was_whole, self.is_whole = self.is_whole, False
        try:
            yield
        finally:
            rounds.restore()
            self.is_whole = was_whole

    @staticmethod
    def _bind_pictures(uses_of: Sequence[BufferUses], pictures: Sequence[Memory]) -> None:
        """Give the kernels of each picture of a batch its image; the others let go of theirs."""
        for picture, uses in zip_longest(pictures[:len(uses_of)], uses_of, fillvalue=None):
            if uses is not None and picture is not None:
                uses.set(picture)
                continue
            for kernel, position in uses or ():
                kernel.forget_buffer(position)

    def bind_wanted(self, needs: Mapping[int, int], wanted: Wanted) -> tuple[Growth, ...]:
        """Give outputs, whose bytes are known by root, the memory that is wanted for them, if any; what grew of it."""
        grown: list[Growth] = []
        if not self._hold_states(needs, wanted.states):
            self._bind_wanted(needs, wanted.states, grown)
        self._bind_wanted(needs, wanted.given, grown)
        return tuple(grown)

    def _hold_states(self, needs: Mapping[int, int], states: Mapping[int, StateBuffer]) -> bool:
        """Whether next values of states have their memory already, and it is large enough."""
        buffers = states.values()
        return dict(zip(states, map(_HELD, buffers), strict=True)).items() <= self._memories.items() and all(
            map(le, map(needs.get, states, repeat(0)), map(_NBYTES, buffers)))

    def _bind_wanted(self, needs: Mapping[int, int], wanted: Mapping[int, Memory | GrowingBuffer],
                     grown: list[Growth]) -> None:
        for root, memory in wanted.items():
            nbytes = needs.get(root)
            if nbytes is None:
                continue
            if isinstance(memory, GrowingBuffer):
                buffer, held = memory, memory.nbytes
                memory = buffer.fit(nbytes)
                if buffer.nbytes != held:
                    grown.append(Growth("output", root, held, buffer.nbytes))
            else:
                check_capacity(self._program.tensors[root].port, memory, nbytes)
            self.bind(root, memory)

    @staticmethod
    def holds_wanted(needs: Mapping[int, int], wanted: Wanted) -> bool:
        """Whether the memory that is wanted for outputs is large enough as it is; that of states keeps what it holds
        when it grows."""
        return all(memory.holds(nbytes) if isinstance(memory, GrowingBuffer) else nbytes <= memory.capacity
                   for root, memory in wanted.given.items() if (nbytes := needs.get(root)) is not None)

    def own_slots(self, needs: Mapping[int, int], wanted: Wanted) -> Needs:
        """(slot, bytes) of outputs that are not wanted elsewhere."""
        return [(self._program.tensors[root].slot, needs[root]) for root in _others(needs, wanted)]

    def bind_own(self, needs: Mapping[int, int], wanted: Wanted) -> None:
        """Give outputs that are not wanted elsewhere their slots."""
        for root in _others(needs, wanted):
            memory = self._pool.memory(self._program.tensors[root].slot)
            assert memory is not None
            self.bind(root, memory)

    def release(self) -> None:
        """Let go of all memory but constants and counters, and of specialised kernels, which may have weights of
        their own."""
        was_whole, self.is_whole = self.is_whole, False
        numbers = [number for found in self._specialised.values() for number in found]
        gone = {id(self.kernels[number]) for number in numbers}
        for uses in (*self._slot_uses, *self._tensor_uses.values(), *self._aliases.all_uses()):
            uses.drop(gone)
        for number in numbers:
            # The numbers stay taken, because records of past inferences tell of them.
            self.kernels.replace(number, 0)
        self._specialised.clear()
        self._slot_memories.clear()
        self._memories = dict(self._program.constant_memory)
        for kernel in self.kernels:
            kernel.forget_buffers()
        self._aliases.forget()
        self.is_whole = was_whole

    def fit_slots(self, needs: Needs, held: tuple[int, ...], tightens: bool) -> tuple[bool, tuple[Growth, ...]]:
        """Make slots large enough, see `MemoryPool.fit`; whether any of them lies elsewhere now, and what grew."""
        was_whole, self.is_whole = self.is_whole, False
        before = self._pool.nbytes
        moved = self._pool.fit(needs, held, tightens)
        if not moved:
            self.is_whole = was_whole
            return False, ()
        self._show(moved)
        grown = [Growth("slot", slot, had, self._pool.capacity(slot)) for slot, had in moved.items()
                 if self._pool.capacity(slot) > had]
        self.is_whole = was_whole
        if self._pool.nbytes <= before:
            return True, ()
        return True, (*grown, Growth("pool", 0, before, self._pool.nbytes))

    def make_room(self, needs: Iterable[Needs], limit: int) -> None:
        """Have memory for the largest of ever larger needs that take at most `limit` bytes, while there is none."""
        likely: Needs = ()
        for each in needs:
            if self._pool.bound(each) > limit:
                break
            likely = each
        if likely:
            was_whole, self.is_whole = self.is_whole, False
            self._show(self._pool.make_room(likely))
            self.is_whole = was_whole

    def _show(self, slots: Collection[int]) -> None:
        """Give kernels the memory of slots that lie elsewhere now."""
        for slot in slots:
            memory = self._pool.memory(slot)
            assert memory is not None
            if self._slot_memories.get(slot) is not memory:
                self._slot_uses[slot].set(memory)
                self._slot_memories[slot] = memory
        self._aliases.generation += bool(slots)


def _others(needs: Mapping[int, int], wanted: Wanted) -> set[int]:
    """The outputs that are not wanted elsewhere."""
    return needs.keys() - wanted.given.keys() - wanted.states.keys()
