"""What lay where in an execution: the memory of a network over the steps of its program, as plain data."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from clinfer.base.shape import StaticShape, show
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.memory import Memory

_OWNED = ("slot", "output")


@dataclass(frozen=True)
class PicturedTensor:
    """Bytes that a step needs until another one (both by index, included), and where they lay.

    `kind`: tensor, output or scratch. `block` by index; `offset` in it.
    """

    name: str
    kind: str
    shape: str
    first: int
    last: int
    nbytes: int
    block: int
    offset: int


@dataclass(frozen=True)
class PicturedBlock:
    """One allocation: its bytes, the type that was asked for, and what stands behind it."""

    nbytes: int
    allocation_type: str
    native_type: str


@dataclass(frozen=True)
class MemoryPicture:
    """The memory of a network in its last execution.

    `steps`: primitives in the order in which they ran. `tensors` and `blocks`: intermediate results, outputs and
    scratch buffers; what the network was given, constants and what bodies return are left out. `constants` and
    `inputs`: their bytes. `bodies`: what the networks of bodies that ran held in their last run, by name.
    """

    steps: tuple[str, ...]
    tensors: tuple[PicturedTensor, ...]
    blocks: tuple[PicturedBlock, ...]
    constants: int
    inputs: int
    bodies: tuple[tuple[str, MemoryPicture], ...] = ()

    @property
    def live(self) -> tuple[int, ...]:
        """The bytes that each step needs at least: all that was made before and is read there or later. Bytes
        that several tensors share, because one lies within another, count once."""
        return tuple(_union((t.block, t.offset, t.offset + t.nbytes) for t in self.tensors if t.first <= step <= t.last)
                     for step in range(len(self.steps)))

    @property
    def lower_bound(self) -> int:
        """The bytes without which no memory plan can do."""
        return max(self.live, default=0)

    @property
    def peak(self) -> int:
        """The bytes of all blocks."""
        return sum(block.nbytes for block in self.blocks)


def _union(spans: Iterable[tuple[int, int, int]]) -> int:
    """The bytes that (block, begin, end) cover."""
    total, reached = 0, (-1, 0)
    for block, begin, end in sorted(spans):
        start = max(begin, reached[1]) if block == reached[0] else begin
        total += max(end - start, 0)
        reached = (block, max(end, start))
    return total


def picture_memory(program: Program, shapes: Mapping[int, StaticShape], memory_of: Callable[[int], Memory | None],
                   slot_memory: Callable[[int], Memory | None], scratch_bytes: Callable[[int], tuple[int, ...]],
                   bodies: tuple[tuple[str, MemoryPicture], ...] = ()) -> MemoryPicture:
    """The picture of an execution: `shapes` of its tensors, the memory of tensors and of slots (both by index), and
    the bytes of the scratch buffers of a node."""
    draft = _Draft(program, shapes)
    draft.add_tensors(memory_of)
    for step, index in enumerate(draft.nodes):
        node = program.nodes[index]
        if node.scratch_slots:
            draft.add_scratch(step, node, scratch_bytes(index), slot_memory)
    inputs = sum(program.tensors[t].layout.with_shape(shapes[t]).byte_size for t in program.input_tensors.values())
    constants = sum(memory.capacity for memory in program.constant_memory.values())
    steps = tuple(program.nodes[index].primitive.id for index in draft.nodes)
    return MemoryPicture(steps, tuple(draft.tensors), tuple(draft.blocks), constants, inputs, bodies)


class _Draft:
    """A picture in the making."""

    def __init__(self, program: Program, shapes: Mapping[int, StaticShape]) -> None:
        self._program = program
        self._shapes = shapes
        self.nodes = [i for i, node in enumerate(program.nodes) if node.kind != "input"]
        self.tensors: list[PicturedTensor] = []
        self.blocks: list[PicturedBlock] = []
        self._numbers: dict[int, int] = {}

    def add_tensors(self, memory_of: Callable[[int], Memory | None]) -> None:
        """Every tensor that has memory of the network, views as part of what they are seen in."""
        program = self._program
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for step, index in enumerate(self.nodes):
            node = program.nodes[index]
            for tensor in (*node.inputs, *node.outputs):
                root = program.tensors[tensor].root
                first.setdefault(root, step)
                last[root] = step
        for info in program.outputs.values():
            last[program.tensors[info.tensor].root] = len(self.nodes) - 1
        for root, begin in first.items():
            described = program.tensors[root]
            memory = memory_of(root) if described.storage in _OWNED and root in self._shapes else None
            if memory is not None:
                kind = "output" if described.storage == "output" else "tensor"
                self._add(str(described.port), kind, show(self._shapes[root]), (begin, last[root]),
                          self._bytes(root), memory)

    def add_scratch(self, step: int, node: ProgramNode, sizes: tuple[int, ...],
                    slot_memory: Callable[[int], Memory | None]) -> None:
        """The scratch buffers of the node of a step."""
        for number, (slot, nbytes) in enumerate(zip(node.scratch_slots, sizes, strict=False)):
            memory = slot_memory(slot)
            if memory is not None:
                self._add(f"{node.primitive.id}/scratch{number}", "scratch", "", (step, step), nbytes, memory)

    def _bytes(self, root: int) -> int:
        tensors = self._program.tensors
        return max(tensors[t].layout.with_shape(shape).byte_size for t, shape in self._shapes.items()
                   if tensors[t].root == root)

    def _add(self, name: str, kind: str, shape: str, steps: tuple[int, int], nbytes: int, memory: Memory) -> None:
        whole, offset = memory.origin
        if id(whole) not in self._numbers:
            self._numbers[id(whole)] = len(self.blocks)
            self.blocks.append(PicturedBlock(whole.nbytes, whole.allocation_type, whole.native_type))
        self.tensors.append(PicturedTensor(name, kind, shape, *steps, nbytes, self._numbers[id(whole)], offset))
