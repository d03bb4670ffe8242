"""How many bytes the slots and outputs of a segment need, from the numbers that its nodes give."""
from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clinfer.network.plans.in_c import address_of, function_in_c
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


class Needs:
    """Needs, and what they come to."""

    def __init__(self, needs: Sequence[Need]) -> None:
        self._needs = needs
        self._numbers = tuple([need.number for need in needs])
        self._function = function_in_c("clinfer_needs")
        self._table = (_Need * len(needs))()
        self._places = array("i")
        for need, own in zip(needs, self._table, strict=True):
            own.home = -1 if need.home is None else need.home
            own.sizes, own.size_count = len(self._places), len(need.sizes)
            own.held, own.held_count = own.sizes + own.size_count, len(need.held)
            own.is_holder = need.is_holder
            self._places.extend((*need.sizes, *need.held))
        self._found = array("q", bytes(8 * len(needs)))

    def told(self, numbers: array[int]) -> tuple[tuple[int, int], ...]:
        """What they come to, once all nodes gave their numbers: (number, bytes) of each."""
        if self._function is None:
            return tuple([(need.number, need.of(numbers)) for need in self._needs])
        self._function(address_of(numbers), address_of(self._places), self._table, ctypes.c_size_t(len(self._needs)),
                       address_of(self._found))
        return tuple(zip(self._numbers, self._found, strict=True))


def needs_of(program: Program, nodes: Iterable[int],
             place: Callable[[str], int]) -> tuple[Needs, Needs]:
    """The needs of slots and those of outputs, of nodes by index; `place` of a name, see `SegmentNodes`. A tensor that
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
    return Needs(slots), Needs(outputs)
