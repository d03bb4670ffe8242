"""How many bytes the slots and outputs of a segment need, from the numbers that its nodes give."""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clinfer.network.memory.slot_bytes import SlotBytes
from clinfer.program.program import AliasedTensor, Program


@dataclass(frozen=True)
class Need:
    """A slot, or an output by its tensor, holds the largest of the numbers at the places `sizes`.

    Nothing is needed unless the tensor lies at home (the number at `home` is negative), and unless it is as
    `is_holder` says whether others lie within it (a number at `held` is not negative).
    """

    number: int
    sizes: tuple[int, ...]
    home: int | None = None
    held: tuple[int, ...] = ()
    is_holder: bool = False

    def of(self, numbers: Sequence[int]) -> int:
        """Its bytes."""
        if self.home is not None and numbers[self.home] >= 0:
            return 0
        if self.held and (max(map(numbers.__getitem__, self.held)) >= 0) != self.is_holder:
            return 0
        return max(map(numbers.__getitem__, self.sizes))


class _Need(ctypes.Structure):
    _fields_ = [("home", ctypes.c_int64), *((name, ctypes.c_size_t) for name in (
        "sizes", "size_count", "held", "held_count", "is_holder"))]


class NeedsTable:
    """The needs of slots and then those of outputs, as `tape.c` has them, and what they come to."""

    def __init__(self, slots: Sequence[Need], outputs: Sequence[Need]) -> None:
        self._needs = needs = (*slots, *outputs)
        self._slots = tuple([need.number for need in slots])
        self._outputs = tuple([need.number for need in outputs])
        self.table = (_Need * len(needs))()
        self.places = array("i")
        for need, own in zip(needs, self.table, strict=True):
            own.home = -1 if need.home is None else need.home
            own.sizes, own.size_count = len(self.places), len(need.sizes)
            own.held, own.held_count = own.sizes + own.size_count, len(need.held)
            own.is_holder = need.is_holder
            self.places.extend((*need.sizes, *need.held))
        self.found = array("q", bytes(8 * len(needs)))
        """What each comes to."""

    def find(self, numbers: Sequence[int]) -> None:
        """Let `found` be what they come to, once all nodes gave their numbers."""
        self.found[:] = array("q", [need.of(numbers) for need in self._needs])

    def told(self) -> tuple[SlotBytes, dict[int, int]]:
        """The bytes of slots, and of outputs by number."""
        found, count = self.found, len(self._slots)
        return SlotBytes(self._slots, found[:count]), dict(zip(self._outputs, found[count:], strict=True))


def needs_of(program: Program, nodes: Iterable[int],
             place: Callable[[str], int]) -> NeedsTable:
    """The needs of slots and outputs, of nodes by index; `place` of a name, see `SegmentNodes`. A tensor that
    lies within another needs nothing."""
    roots: dict[int, list[int]] = {}
    scratch: dict[int, list[int]] = {}
    aliases: list[AliasedTensor] = []
    for index in nodes:
        node = program.nodes[index]
        for tensor in node.outputs:
            roots.setdefault(program.tensors[tensor].root, []).append(place(f"b{tensor}"))
        for number, slot in enumerate(node.scratch_slots):
            scratch.setdefault(slot, []).append(place(f"b{index}_{number}"))
        aliases += node.aliases
    movable = {aliased.moved for aliased in aliases}
    slots, outputs = [Need(slot, tuple(sizes)) for slot, sizes in scratch.items()], []
    for root, found in roots.items():
        described, sizes = program.tensors[root], tuple(found)
        if described.storage == "output":
            outputs.append(Need(root, sizes))
        elif described.storage == "slot":
            home = place(f"o{root}") if root in movable else None
            held = tuple(place(f"o{aliased.moved}") for aliased in aliases if aliased.within == root)
            longer = program.long_homes.get(root)
            if longer is None or not held:
                slots.append(Need(described.slot, sizes, home))
            else:
                slots.append(Need(program.tensors[longer].slot, sizes, home, held, True))
                slots.append(Need(described.slot, sizes, home, held))
    return NeedsTable(slots, outputs)
